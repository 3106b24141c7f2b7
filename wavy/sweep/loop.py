"""The loop over the runs of a sweep."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Protocol

import pandas as pd
from pydantic import BaseModel

from wavy import results, rowfile
from wavy.extras import require
from wavy.sweep.local import Do, Here, Processes
from wavy.sweep.one import Failure, Outcome, Runner, do_run, hash_of, keep
from wavy.sweep.progress import Progress, training_cost


class SweepError(RuntimeError):
    """Runs of a sweep have failed; one line each. The rows of the others stand."""


class _Place(Protocol):
    """Where runs are done."""

    #: How many runs go on at once.
    workers: int

    def outcomes(self, do: Do, runs: Iterator[BaseModel]) -> Iterator[Outcome]:
        """Do the runs, started in their order; what comes of each, as soon as it ends."""


def sweep(
    runs: Sequence[BaseModel],
    runner: Runner,
    *,
    scale: str,
    device: str = "cpu",
    path: Path | None = None,
    jobs: int = 1,
    cluster: str | None = None,
    minutes: float | None = None,
    cost: Callable[[BaseModel], float] = training_cost,
    report: Callable[[str], None] = print,
) -> pd.DataFrame:
    """Do the runs that have no row yet, in their order.

    A failed run does not stop the others. Stopped by Ctrl-C or killed, a sweep goes on when it is called again.

    Args:
        runs: parameter objects, in the order in which they are to start.
        runner: does one run; must be importable by the processes that do it.
        scale: name written into the rows.
        device: where to train.
        path: the file of rows; ``None`` keeps the rows in memory and does every run.
        jobs: processes of one thread each; 1 runs here.
        cluster: address of a Dask scheduler, for instance ``tcp://host:8786``, whose workers do the runs instead.
        minutes: start no new run after this time, but end those that have begun.
        cost: a run's cost beside that of others, for the estimate of the time left.
        report: called with one line of progress a run.

    Raises:
        ValueError: rows cannot be written to ``path``, it holds something else, or the cluster cannot do the runs;
            found before the first run. Or the cluster is lost meanwhile.
        SweepError: at the end, where runs have failed; nothing is written for them.
        OSError: a row could not be written.

    Returns:
        One row a run of ``runs``, in their order, for all that have one: the table of :func:`wavy.results.frame`.
    """
    end = time.monotonic() + 60 * minutes if minutes is not None else float("inf")
    if path:
        rowfile.check_writable(path)
    done = {row["params_hash"]: row for row in rowfile.read(path)} if path else {}
    asked = {results.run_hash(run): run for run in runs}
    todo = {name: run for name, run in asked.items() if name not in done}
    progress, failures = Progress(todo, cost), []

    def upcoming() -> Iterator[BaseModel]:
        for name, run in todo.items():
            if time.monotonic() >= end:
                return
            # Another sweep over the same file may have done it meanwhile.
            if path and (row := rowfile.find(path, name)):
                done[name] = row
                progress.skip(name)
            else:
                yield run

    do = functools.partial(do_run, runner=runner, scale=scale, device=device, path=None if cluster else path)
    place = _place(jobs, cluster) if todo else Here()
    with closing(place.outcomes(do, upcoming())) as outcomes:
        for outcome in outcomes:
            if isinstance(outcome, Failure):
                failures.append(outcome)
            else:
                done[hash_of(outcome)] = keep(path, outcome) if cluster and path else outcome
            report(progress.line(outcome, place.workers))
    table = [done[name] for name in map(results.run_hash, runs) if name in done]
    if progress.left:
        report(f"time is up: {len(table)} of {len(runs)} rows stand ({len(table) / len(runs):.0%})")
    if failures:
        raise _failed(failures, progress)
    return results.to_frame(table)


def _place(jobs: int, cluster: str | None) -> _Place:
    if not cluster:
        return Processes(jobs) if jobs > 1 else Here()
    require("distributed", "cluster")
    from wavy.sweep.cluster import Cluster  # noqa: PLC0415 (it imports distributed)

    return Cluster(cluster)


def _failed(failures: Sequence[Failure], progress: Progress) -> SweepError:
    lines = [f"{progress.name(failure.params_hash)}: {failure.error}" for failure in failures]
    error = SweepError("\n".join([f"{len(lines)} of {progress.total} runs failed and have no row:", *lines]))
    if failures[0].details:
        error.add_note(f"The first of them:\n{failures[0].details}")
    return error
