"""Peak memory of training, each measurement in a process of its own.

Counted is what training adds to a process in which model and batch stand ready: what the backward pass needs,
gradients, and the optimiser's moments.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks import allocator, models
from benchmarks.peak import peak, reset_peak, resident
from benchmarks.rows import ROOT, write
from wavy.dynamics import KINDS

STEPS = 3


def run(cases: dict[str, models.Case], path: Path | None, repeats: int = 3) -> list[dict[str, object]]:
    """Rows of the ratios of all residual kinds: bytes of each process over the median of the stock model's."""
    table = "CASES" if cases is models.CASES else "TINY"
    rows = []
    for name, case in cases.items():
        about = {"model": name, "step": "training", "batch": case.batch, "settings": case.settings}
        stock = [_in_new_process(table, name, "stock") for _ in range(repeats)]
        base = write(path, "memory", [size / 2**20 for size in stock], "MiB", residual="stock", **about)
        rows.append(base)
        for kind in KINDS:
            ratios = [_in_new_process(table, name, kind) / 2**20 / base["value"] for _ in range(repeats)]
            rows.append(write(path, "memory", ratios, "ratio", residual=kind, **about))
    return rows


def _in_new_process(table: str, name: str, kind: str) -> int:
    command = [sys.executable, "-m", "benchmarks.memory", table, name, kind]
    environment = allocator.default_environment()
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    return int(done.stdout)


def added_bytes(case: models.Case, kind: str) -> int:
    """Bytes that some training steps add at their peak to this process."""
    batch, model = case.inputs(case.batch), models.build(case, kind)
    step = models.training_step(case, model, batch)
    reset_peak()
    before = resident()
    for _ in range(STEPS):
        step()
    return peak() - before


if __name__ == "__main__":
    chosen = getattr(models, sys.argv[1])[sys.argv[2]]
    print(added_bytes(chosen, sys.argv[3]))
