"""Runs that take hours: each writes checkpoints into the cache, from which it goes on, and tells its progress."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel

from wavy.data.cache import cache_folder
from wavy.results import run_hash

#: The data sets of such runs, those of scale ``paper``.
LONG = frozenset({"imagenet", "openwebtext", "wikipedia+bookcorpus"})


def checkpoint_folder(run: BaseModel) -> Path | None:
    """Where a run keeps its checkpoints, and ``None`` for one that does not take long."""
    if run.dataset not in LONG:
        return None
    return cache_folder() / "checkpoints" / f"{run.experiment}-{run_hash(run)}"
