"""``python -m benchmarks [NAME ...]``: measure, and append one row a measurement to results/benchmarks.jsonl."""

from __future__ import annotations

import sys

import torch

from benchmarks import allocator, epoch, imports, memory, nodes, rows, speed, tokens, ways
from benchmarks.models import CASES

BENCHMARKS = {
    "speed": lambda: speed.run(CASES, rows.FILE),
    "ways": lambda: ways.run("DeiT-Ti", CASES["DeiT-Ti"], rows.FILE),
    "memory": lambda: memory.run(CASES, rows.FILE),
    "tokens": lambda: tokens.run(tokens.COUNTS, rows.FILE),
    "imports": lambda: imports.run(rows.FILE),
    "epoch": lambda: epoch.run(rows.FILE),
    "accuracy": lambda: epoch.accuracy(rows.FILE),
    "nodes": lambda: nodes.run(nodes.COUNTS, rows.FILE),
}

#: What tells the rows of one benchmark apart.
NAMES = ("model", "residual", "step", "way", "tokens", "nodes")


def main(names: list[str]) -> None:
    """Run the named benchmarks, all if none is named."""
    if unknown := [name for name in names if name not in BENCHMARKS]:
        sys.exit(f"benchmark: found {', '.join(unknown)}, allowed {', '.join(BENCHMARKS)}")
    allocator.restart_keeping(names)
    torch.set_num_threads(rows.THREADS)
    for name in names or BENCHMARKS:
        for row in BENCHMARKS[name]():
            what = " ".join(
                str(row[key]) for key in ("model", "residual", "step", "way", "tokens", "nodes") if key in row
            )
            print(f"{name} {what}: {row['value']:.3f} [{row['low']:.3f}, {row['high']:.3f}] {row['unit']}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
