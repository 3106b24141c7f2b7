"""The record of a checkpoint, with the sums by which damage to any of its files is noticed."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

RECORD = "run.json"

#: What the record has of the other files, and of itself.
FILES, ITSELF = "sums", "sum"


class Damaged(ValueError):
    """A checkpoint that cannot be trusted; the message says why."""


def write_record(folder: Path, record: dict[str, Any]) -> None:
    """Write the record of a checkpoint whose other files are complete.

    Args:
        folder: of the checkpoint.
        record: JSON values.
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    content = record | {FILES: {path.relative_to(folder).as_posix(): _file_sum(path) for path in files}}
    (folder / RECORD).write_text(json.dumps(content | {ITSELF: _sum_of(content)}))


def read_record(folder: Path) -> dict[str, Any]:
    """The record of a checkpoint, without the sums; those of earlier versions have none.

    Raises:
        Damaged: a file is not as it was written, or not there.
    """
    try:
        content = json.loads((folder / RECORD).read_text())
        own, files = content.pop(ITSELF, None), content.get(FILES, {})
        if own is not None and own != _sum_of(content):
            raise Damaged(f"{RECORD} has changed")
        for name, expected in files.items():
            if _file_sum(folder / name) != expected:
                raise Damaged(f"{name} has changed")
    except OSError as error:
        raise Damaged(f"{error.filename}: {error.strerror}") from None
    except (json.JSONDecodeError, UnicodeDecodeError, AttributeError):
        raise Damaged(f"{RECORD} is not readable") from None
    content.pop(FILES, None)
    return content


def _sum_of(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _file_sum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
