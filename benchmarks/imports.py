"""Seconds that ``import wavy`` adds to ``import torch``, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from benchmarks.rows import ROOT, write


def run(path: Path | None, repeats: int = 11) -> list[dict[str, object]]:
    """One row: differences of neighbouring starts."""
    for code in ("import torch", "import torch, wavy"):
        _seconds(code)  # fills the disk's cache
    added = [_seconds("import torch, wavy") - _seconds("import torch") for _ in range(repeats)]
    return [write(path, "imports", added, "s", settings="import wavy after import torch")]


def _seconds(code: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
    return time.perf_counter() - start
