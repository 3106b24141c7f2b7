"""Results rows: one JSON object a finished run, appended to ``results/<experiment>.jsonl``.

A row is written whole, under a file lock, by one write that ends in a newline; a line without its newline is the
trace of a killed process, is never read as data, and is removed by the next append.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
from filelock import FileLock
from pydantic import BaseModel

#: The keys of a row, in the order in which they are written.
KEYS = (
    "experiment", "scale", "dataset", "model", "residual", "depth", "tau", "seed",
    "params", "params_hash", "metrics", "seconds", "device", "versions", "revision", "time",
)  # fmt: skip

Row = dict[str, Any]


def params_hash(experiment: str, params: dict[str, Any]) -> str:
    """Twelve hex digits that name one run: a hash of the experiment and its parameters, order ignored."""
    text = json.dumps([experiment, params], sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def run_hash(run: BaseModel) -> str:
    """The hash of a run's parameter object.

    Parameters at their defaults are left out, so that a parameter added later leaves the old rows' names alone; the
    default of an existing parameter must therefore never change.
    """
    return params_hash(run.experiment, run.model_dump(mode="json", exclude_defaults=True))


def make_row(run: BaseModel, scale: str, metrics: dict[str, float | None], seconds: float, device: str) -> Row:
    """A row for a finished run.

    Args:
        run: the run's parameter object, with experiment, model_name, dataset, residual, depth, tau and seed.
        scale: the scale that asked for it.
        metrics: name -> finite number, or ``None`` where there is none.
        seconds: wall-clock time.
        device: where it ran.

    Raises:
        ValueError: a metric is NaN or infinite.
    """
    named = {name: getattr(run, name) for name in ("dataset", "residual", "depth", "tau", "seed")}
    versions = {"python": platform.python_version()}
    versions |= {package: version(package) for package in ("torch", "torch-geometric", "wavy")}
    row = {
        "experiment": run.experiment, "scale": scale, "model": run.model_name, **named,
        "params": run.model_dump(mode="json"), "params_hash": run_hash(run), "metrics": metrics,
        "seconds": round(seconds, 2), "device": device, "versions": versions, "revision": revision(),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }  # fmt: skip
    _encode(row)
    return {key: row[key] for key in KEYS}


def append(path: Path, row: Row) -> bool:
    """Append a row unless one with its params_hash stands there already.

    Returns:
        Whether the row was written.

    Raises:
        ValueError: keys missing or unknown, a number that is not finite, or a file that holds something else.
    """
    if set(row) != set(KEYS):
        raise ValueError(f"row: found keys {sorted(row)}, allowed exactly {sorted(KEYS)}")
    line = _encode(row)
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{path}.lock"):
        _drop_half_line(path)
        if find(path, row["params_hash"]):
            return False
        with open(path, "ab", buffering=0) as file:
            file.write(line)
            os.fsync(file.fileno())
    return True


def read(path: Path) -> list[Row]:
    """The rows of a file, oldest first; none if there is no file.

    Raises:
        ValueError: a whole line that is not a row, named by its number.
    """
    return list(_rows(path))


def find(path: Path, name: str) -> Row | None:
    """The row of a file with this params_hash, or ``None``."""
    return next((row for row in read(path) if row["params_hash"] == name), None)


def frame(path: Path) -> pd.DataFrame:
    """The rows of a file as a table, see :func:`to_frame`."""
    return to_frame(read(path))


def select(path: Path, runs: Iterable[BaseModel]) -> pd.DataFrame:
    """The rows of a file that belong to the given runs, in the order of the runs, as a table."""
    known = {row["params_hash"]: row for row in read(path)}
    return to_frame([known[name] for name in map(run_hash, runs) if name in known])


def to_frame(rows: list[Row]) -> pd.DataFrame:
    """Rows as a table: the top-level keys, then each metric as a column of its own."""
    columns = [key for key in KEYS if key not in ("params", "metrics")]
    return pd.DataFrame([{key: row[key] for key in columns} | row["metrics"] for row in rows])


@cache
def revision() -> str:
    """The commit of the running code, ``-dirty`` where ``wavy/`` differs from it, ``unknown`` outside a checkout."""
    folder = Path(__file__).parent
    try:
        commit = _git(folder, "rev-parse", "--short=12", "HEAD")
        return f"{commit}-dirty" if _git(folder, "status", "--porcelain", "--", ".") else commit
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _encode(row: Row) -> bytes:
    return (json.dumps(row, separators=(",", ":"), allow_nan=False) + "\n").encode()


def _rows(path: Path) -> Iterator[Row]:
    content = path.read_bytes() if path.exists() else b""
    whole = content[: content.rfind(b"\n") + 1]
    for number, line in enumerate(whole.splitlines(), start=1):
        try:
            row = json.loads(line)
            complete = set(row) == set(KEYS)
        except (ValueError, TypeError):
            complete = False
        if not complete:
            raise ValueError(f"{path.name}, line {number}: not a results row; restore the file from its last commit")
        yield row


def _drop_half_line(path: Path) -> None:
    if not path.exists():
        return
    with open(path, "r+b") as file:
        content = file.read()
        file.truncate(content.rfind(b"\n") + 1)
