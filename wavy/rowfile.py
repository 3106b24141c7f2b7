"""The files of results rows: one JSON object a line, appended so that nothing is ever lost.

A row is written whole, under a file lock, by one write that ends in a newline. A last line that
breaks off is the trace of a killed process: it is never read as data, and the next append removes
it. A file that holds anything else is refused and left as it is.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock

#: The keys of a row, in the order in which they are written.
KEYS = (
    "experiment", "scale", "dataset", "model", "residual", "depth", "tau", "seed",
    "params", "params_hash", "metrics", "seconds", "device", "versions", "revision", "time",
)  # fmt: skip

#: The keys that repeat a parameter of the run, for reading by eye.
NAMED = ("dataset", "residual", "depth", "tau", "seed")

#: How a row begins, to tell the half row of a killed process from something else.
ROW_START = b'{"experiment":'

#: How long to wait for another process that is writing; a write takes a fraction of a second.
LOCK_SECONDS = 60

Row = dict[str, Any]


def append(path: Path, row: Row) -> bool:
    """Append a row unless one with its params_hash stands there already.

    Returns:
        Whether the row was written.

    Raises:
        ValueError: no row, see :func:`encode`; or a file that holds something else.
        OSError: the row could not be written whole; the file is then as before.
    """
    line = encode(row)
    with _locked(path):
        content = path.read_bytes() if path.exists() else b""
        rows, end = _parse(path, content)
        if any(known["params_hash"] == row["params_hash"] for known in rows):
            return False
        # A whole row without its newline gets it now; the half row of a killed process ends at ``end``.
        line = line if content[:end].endswith(b"\n") or not end else b"\n" + line
        with open(path, "ab", buffering=0) as file:
            file.truncate(end)
            try:
                if file.write(line) != len(line):
                    raise OSError(f"{path.name}: no space left for a row")
                os.fsync(file.fileno())
            except OSError:
                file.truncate(end)
                raise
    return True


def check_writable(path: Path) -> None:
    """Make sure, before hours of work, that rows can be read from and appended to a file.

    Raises:
        ValueError: the file holds something else, or cannot be written.
    """
    try:
        with _locked(path):
            read(path)
            open(path, "ab").close()
    except OSError as error:
        raise ValueError(f"{path.name}: rows cannot be written there ({error.strerror or error})") from None


def read(path: Path) -> list[Row]:
    """The rows of a file, oldest first; none if there is no file.

    Raises:
        ValueError: a whole line that is not a row, named by its number.
    """
    return _parse(path, path.read_bytes() if path.exists() else b"")[0]


def find(path: Path, name: str) -> Row | None:
    """The row of a file with this params_hash, or ``None``."""
    return next((row for row in read(path) if row["params_hash"] == name), None)


def encode(row: Row) -> bytes:
    """The line of a row, one that can be read back.

    Raises:
        ValueError: keys missing or unknown, a value that differs from the parameter it repeats, params or metrics that
            are no mapping, or a number that is not finite.
    """
    found = sorted(row) if isinstance(row, dict) else row
    if found != sorted(KEYS):
        raise ValueError(f"row: found keys {found}, allowed exactly {sorted(KEYS)}")
    for name in ("params", "metrics"):
        if not isinstance(row[name], dict):
            raise ValueError(f"row: found {row[name]!r} as {name}, allowed a mapping")
    odd = {name: value for name, value in row["metrics"].items() if not isinstance(value, float | int | None)}
    if odd:
        raise ValueError(f"row: found {odd} among metrics, allowed numbers or None")
    if not isinstance(row["params_hash"], str) or not re.fullmatch("[0-9a-f]{12}", row["params_hash"]):
        raise ValueError(f"row: found {row['params_hash']!r} as params_hash, allowed twelve hex digits")
    for name in NAMED:
        if name not in row["params"] or row[name] != row["params"][name]:
            raise ValueError(
                f"row: found {name} {row[name]!r}, allowed that of its params, {row['params'].get(name)!r}"
            )
    try:
        return (json.dumps({key: row[key] for key in KEYS}, separators=(",", ":"), allow_nan=False) + "\n").encode()
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"row: found a value that cannot be written ({error}), allowed finite numbers and text"
        ) from None


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{path}.lock", timeout=LOCK_SECONDS):
        yield


def _parse(path: Path, content: bytes) -> tuple[list[Row], int]:
    """The rows of a file's content and how many of its bytes they take: all but the half row of a killed process."""
    *lines, tail = content.split(b"\n")
    rows = [_parse_line(line) for line in lines]
    if tail and (last := _parse_line(tail)):
        return [*rows, last], len(content)
    if tail and not (tail.startswith(ROW_START) or ROW_START.startswith(tail)):
        rows.append(None)
    if None in rows:
        number = rows.index(None) + 1
        raise ValueError(f"{path.name}, line {number}: not a results row; restore the file from its last commit")
    return rows, len(content) - len(tail)


def _parse_line(line: bytes) -> Row | None:
    """The row that a line holds, or ``None`` where it is not one."""
    try:
        row = json.loads(line)
        named = all(row[name] == row["params"][name] for name in NAMED)
        return row if named and set(row) == set(KEYS) and isinstance(row["metrics"], dict) else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
