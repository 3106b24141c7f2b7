"""One run of a sweep, wherever it is done: a row, or why there is none."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from wavy import results, rowfile
from wavy.rowfile import Row

#: A run's parameters and the device -> its metrics.
Runner = Callable[[BaseModel, str], dict[str, float | None]]


@dataclass(frozen=True)
class Failure:
    """A run that ended without a row. Text only: not every exception can travel between processes.

    Args:
        params_hash: of the run.
        error: what happened, one line.
        details: the traceback, or nothing.
    """

    params_hash: str
    error: str
    details: str = ""

    @classmethod
    def of(cls, run: BaseModel, error: BaseException) -> Failure:
        """The failure of a run by an exception: its type, its message, and where it was raised."""
        frames = traceback.extract_tb(error.__traceback__)
        place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
        line = " ".join(f"{type(error).__name__}: {error}".split())
        return cls(results.run_hash(run), line + place, "".join(traceback.format_exception(error)))


Outcome = Row | Failure


def do_run(run: BaseModel, *, runner: Runner, scale: str, device: str, path: Path | None) -> Outcome:
    """Do one run and write its row to ``path``, if there is one.

    Raises:
        OSError: the row cannot be written; that is no fault of the run, and others would fare no better.
    """
    started = time.monotonic()
    try:
        row = results.make_row(run, scale, runner(run, device), time.monotonic() - started, device)
    except Exception as error:
        return Failure.of(run, error)
    return keep(path, row) if path else row


def keep(path: Path, row: Row) -> Row:
    """Write a row and return the one that stands: another process may have been first."""
    return row if rowfile.append(path, row) else rowfile.find(path, row["params_hash"])


def hash_of(outcome: Outcome) -> str:
    """The params_hash of the run that had this outcome."""
    return outcome.params_hash if isinstance(outcome, Failure) else outcome["params_hash"]
