"""What comes back from the GPU machine: new rows and executed notebooks, a compressed archive each."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zlib
from collections.abc import Collection, Mapping
from pathlib import Path

from wavy import rowfile
from wavy.companion.recorded_runs import run_of


def standing(results: Path, experiments: Collection[str]) -> dict[str, list[rowfile.Row]]:
    """All rows of a results folder, by experiment."""
    return {name: rowfile.read(results / f"{name}.jsonl") for name in experiments}


def new_rows(rows: Mapping[str, list[rowfile.Row]], before: Mapping[str, list[rowfile.Row]]) -> dict[str, bytes]:
    """The rows that did not stand before, as files of rows by name; an experiment without new ones has no file."""
    known = {row["params_hash"] for each in before.values() for row in each}
    fresh = {name: [row for row in each if row["params_hash"] not in known] for name, each in rows.items()}
    files = {f"{name}.jsonl": "".join(json.dumps(row) + "\n" for row in each) for name, each in fresh.items() if each}
    return {name: text.encode() for name, text in files.items()}


def pack(path: Path, files: Mapping[str, bytes]) -> None:
    """Write files into one compressed archive."""
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))


def merge(path: Path, results: Path) -> dict[str, int]:
    """Add the rows of an archive to a results folder; a row that stands there already stays as it is.

    Args:
        path: an archive that :func:`pack` has written of rows.
        results: the folder of files of rows.

    Returns:
        How many rows each file has gained.

    Raises:
        ValueError: no archive, or it holds something else than rows of the experiments that its files are named after;
            nothing is written then.
        OSError: it cannot be read, or the results cannot be written.
    """
    found = {}
    for name, content in _files(path).items():
        lines = enumerate(content.splitlines(), 1)
        found[name] = [_row(f"{path.name}: found {name}, line {number}", name, line) for number, line in lines]
    return {name: sum(rowfile.append(results / name, row) for row in rows) for name, rows in found.items()}


def _files(path: Path) -> dict[str, bytes]:
    files = {}
    try:
        with tarfile.open(path, "r:gz") as archive:
            for entry in archive:
                name = Path(entry.name).name
                if not entry.isfile() or not name.endswith(".jsonl") or name != entry.name or name in files:
                    raise ValueError(f"{path.name}: found {entry.name}, allowed files of rows alone, each once")
                files[name] = archive.extractfile(entry).read()
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile):
        raise ValueError(f"{path.name}: found no whole archive, allowed the rows.tar.gz that came back") from None
    return files


def _row(place: str, name: str, line: bytes) -> rowfile.Row:
    try:
        row = json.loads(line)
        rowfile.encode(row)
        run_of(row)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{place}, allowed rows alone ({error})") from None
    if f"{row['experiment']}.jsonl" != name:
        raise ValueError(f"{place} of {row['experiment']!r}, allowed rows of {Path(name).stem!r} alone")
    return row
