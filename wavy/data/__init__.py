"""Data sets by name. Raw files are looked up, checked and read here; nothing is normalised."""

import importlib
from typing import TYPE_CHECKING

from wavy.data.sources import DataUnavailable

if TYPE_CHECKING:
    from wavy.data.graphs import NAMES, load_graph

__all__ = ["NAMES", "DataUnavailable", "load_graph"]


def __getattr__(name: str) -> object:
    # PyG takes seconds to import, and texts and images do without it.
    if name in __all__:
        return getattr(importlib.import_module("wavy.data.graphs"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
