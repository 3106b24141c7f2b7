"""Remember which notebooks ran well, so that ``make book`` after ``make test`` need not run them again.

jupyter-cache knows a notebook by its source alone and serves old numbers after a change in ``wavy/``. Here a run is
known by everything that determines whether it is good: source (with its parameters) and reference of the notebook,
every file of ``wavy/`` and ``results/``, the locked requirements and the Python version. The entries lie in
``_build/ledger/``, one file a notebook.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from wavy.companion.paths import Layout, write_atomically

INPUTS = ("wavy", "results", "requirements.lock")  # besides the notebook itself


def state(layout: Layout, name: str) -> dict[str, str]:
    """Return what determines whether a run of notebook ``name`` is good, as it is now: two sha256 digests.

    Take it before a run and record it afterwards, so that an edit during the run is not taken for tested.
    """
    files = (layout.source(name), *_input_files(layout.root))
    inputs = [f"{name} {sys.version_info[:2]}".encode(), *(_digest(path, layout.root) for path in files)]
    return {
        "inputs": hashlib.sha256(b"".join(inputs)).hexdigest(),
        "reference": _digest(layout.reference(name), layout.root).hex(),
    }


def record(layout: Layout, name: str, state: dict[str, str], by: str) -> None:
    """Remember that notebook ``name`` in this ``state`` ran with outputs equal to its reference.

    Args:
        layout: the checkout.
        name: stem of the notebook.
        state: what ``state`` returned before the run.
        by: which tool ran it, "nbval" or "papermill".
    """
    write_atomically(_entry(layout, name), json.dumps({"state": state, "by": by}) + "\n")


def recorded(layout: Layout, name: str) -> dict[str, str] | None:
    """Return the state of the last good run of notebook ``name``; None if there was none or its entry is damaged."""
    try:
        return json.loads(_entry(layout, name).read_text(encoding="utf-8"))["state"]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _entry(layout: Layout, name: str) -> Path:
    return layout.build / "ledger" / f"{name}.json"


def _input_files(root: Path) -> Iterator[Path]:
    for entry in INPUTS:
        files = sorted((root / entry).rglob("*")) if (root / entry).is_dir() else [root / entry]
        yield from (path for path in files if path.is_file() and "__pycache__" not in path.parts)


def _digest(path: Path, root: Path) -> bytes:
    digest = hashlib.sha256(path.relative_to(root).as_posix().encode() + b"\0")
    digest.update(path.read_bytes() if path.is_file() else b"")
    return digest.digest()
