"""What was planned and what was reached: each plan's runs and cells, counted against the recorded rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import pandas as pd
from pydantic import BaseModel

from wavy.companion.paths import Layout
from wavy.results import run_hash
from wavy.rowfile import read


def recorded_hashes(*experiments: str) -> set[str]:
    """The params_hash of every row that stands in the files of some experiments."""
    folder = Layout.find().root / "results"
    return {row["params_hash"] for name in experiments for row in read(folder / f"{name}.jsonl")}


def coverage(plans: Mapping[str, Sequence[BaseModel]], recorded: Collection[str]) -> pd.DataFrame:
    """Count what is recorded of each plan.

    A *cell* is everything in a run but its seed, and that of a run it starts from.

    Args:
        plans: a plan's name -> its runs.
        recorded: params_hash of every row that stands.

    Returns:
        One row a plan: planned, recorded and missing runs, the number of cells, how many of these have all their seeds,
        some of them, and none.
    """
    return pd.DataFrame({name: _counts(runs, recorded) for name, runs in plans.items()}).T


def unreached(runs: Sequence[BaseModel], recorded: Collection[str]) -> list[BaseModel]:
    """The cells of a plan that have no recorded run, each by its first planned run, in the plan's order."""
    return [seeds[0] for seeds in _cells(runs) if not any(run_hash(run) in recorded for run in seeds)]


def _counts(runs: Sequence[BaseModel], recorded: Collection[str]) -> dict[str, int]:
    cells = [[run_hash(run) in recorded for run in seeds] for seeds in _cells(runs)]
    reached = sum(map(sum, cells))
    planned = sum(map(len, cells))
    return {
        "planned": planned,
        "recorded": reached,
        "missing": planned - reached,
        "cells": len(cells),
        "with all seeds": sum(map(all, cells)),
        "with some": sum(any(cell) and not all(cell) for cell in cells),
        "with none": sum(not any(cell) for cell in cells),
    }


def _cells(runs: Iterable[BaseModel]) -> list[list[BaseModel]]:
    cells: dict[BaseModel, list[BaseModel]] = {}
    for run in dict.fromkeys(runs):
        cells.setdefault(_without_seeds(run), []).append(run)
    return list(cells.values())


def _without_seeds(run: BaseModel) -> BaseModel:
    inner = {name: _without_seeds(value) for name, value in run if isinstance(value, BaseModel)}
    return run.model_copy(update=inner | ({"seed": 0} if "seed" in type(run).model_fields else {}))
