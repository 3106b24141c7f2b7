"""Packages that come with an extra of wavy and are imported when they are needed."""

from __future__ import annotations

import importlib
from types import ModuleType

from wavy.data.sources import DataUnavailable


def require(package: str, extra: str) -> ModuleType:
    """Import a package or a module of it.

    Raises:
        DataUnavailable: It cannot be imported; the line says how to install it.
    """
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise DataUnavailable(
            f"the package {package.partition('.')[0]} is missing ({error}): pip install 'wavy[{extra}]'"
        ) from error
