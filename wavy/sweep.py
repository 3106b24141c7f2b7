"""Many runs with joblib: resumable, one row a finished run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
import torch
from joblib import Parallel, delayed, parallel_config
from pydantic import BaseModel

from wavy import results, rowfile
from wavy.rowfile import Row

#: A run's parameters and the device -> its metrics.
Runner = Callable[[BaseModel, str], dict[str, float | None]]


def sweep(
    runs: Sequence[BaseModel],
    runner: Runner,
    *,
    scale: str,
    device: str = "cpu",
    path: Path | None = None,
    jobs: int = 1,
    report: Callable[[str], None] = print,
) -> pd.DataFrame:
    """Do the runs that have no row yet, each in turn or in ``jobs`` processes of one thread each.

    Args:
        runs: parameter objects, in the order in which they are to run.
        runner: does one run; must be importable when ``jobs`` > 1.
        scale: name written into the rows.
        device: where to train.
        path: the file of rows; ``None`` keeps the rows in memory and does every run.
        jobs: processes; 1 runs here.
        report: called with one line of progress a run.

    Raises:
        ValueError: rows cannot be written to ``path``, or it holds something else; found before the first run.

    An exception of a run ends the sweep and names the run in a note; the rows of finished runs stand.

    Returns:
        One row a run of ``runs``, in their order: the table of :func:`wavy.results.frame`.
    """
    if path:
        rowfile.check_writable(path)
    done = {row["params_hash"]: row for row in rowfile.read(path)} if path else {}
    todo = [run for run in runs if results.run_hash(run) not in done]
    started = time.monotonic()
    with parallel_config("loky", n_jobs=jobs, inner_max_num_threads=1) if jobs > 1 else parallel_config("sequential"):
        rows = Parallel(return_as="generator_unordered")(
            delayed(_one)(run, runner, scale=scale, device=device, path=path, pinned=jobs > 1) for run in todo
        )
        for count, row in enumerate(rows, start=1):
            done[row["params_hash"]] = row
            left = (time.monotonic() - started) / count * (len(todo) - count)
            report(_progress(count, len(todo), row, left))
    return results.to_frame([done[results.run_hash(run)] for run in runs])


def _one(run: BaseModel, runner: Runner, *, scale: str, device: str, path: Path | None, pinned: bool) -> Row:
    # Another sweep over the same file may have done it meanwhile.
    if path and (row := rowfile.find(path, results.run_hash(run))):
        return row
    if pinned:
        torch.set_num_threads(1)
    started = time.monotonic()
    try:
        row = results.make_row(run, scale, runner(run, device), time.monotonic() - started, device)
    except Exception as error:
        error.add_note(f"in the run {_name(run.model_dump())}")
        raise
    if path and not rowfile.append(path, row):
        return rowfile.find(path, row["params_hash"])
    return row


def _progress(count: int, total: int, row: Row, left: float) -> str:
    return f"[{count}/{total}] {_name(row)}: {row['seconds']:.0f} s, about {left / 60:.0f} min left"


def _name(run: dict[str, object]) -> str:
    tau = "" if run["tau"] is None else f" tau {run['tau']:g}"
    return f"{run['dataset']} {run['residual']} depth {run['depth']}{tau} seed {run['seed']}"
