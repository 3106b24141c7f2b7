"""Time and memory of a full-batch step of DIFFormer against the number of nodes, each in a process of its own."""

from __future__ import annotations

import json
import math
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.allocator import KEEPING, returning_environment
from benchmarks.peak import peak, reset_peak, resident
from benchmarks.rows import ROOT, THREADS, write
from wavy.hosts.difformer import DIFFormer

COUNTS = (10_000, 30_000, 100_000, 300_000, 1_000_000)
EDGES = 10  # a node
FEATURES, WIDTH, CLASSES, DEPTH = 128, 64, 10, 2
#: What a process may take of memory of its own, in bytes; beyond it an allocation fails.
LIMIT = 16 * 2**30


def run(counts: tuple[int, ...], path: Path | None, repeats: int = 3) -> list[dict[str, object]]:
    """Rows of seconds and bytes of a step for each number of nodes, and of the slopes of their logarithms.

    The allocator keeps freed memory while time is taken, and returns it while memory is: by default it does the one
    for small tensors and the other for large ones, and neither would grow in proportion.
    """
    settings = f"{EDGES} edges a node, {FEATURES} features, {DEPTH} layers, width {WIDTH}, single precision"
    rows, seconds, sizes = [], [], []
    for count in counts:
        about = {"step": "training", "nodes": count, "settings": settings}
        timed = in_new_process(count, repeats, os.environ | KEEPING)
        seconds.append(timed["seconds"])
        rows.append(write(path, "nodes", seconds[-1], "s", peak=timed["peak"], freed_memory="kept", **about))
        sized = in_new_process(count, 1, returning_environment())
        sizes.append(sized["bytes"])
        per_node = [sizes[-1] / count]
        rows.append(
            write(path, "nodes", per_node, "bytes a node", peak=sized["peak"], freed_memory="returned", **about)
        )
    for what, values in (("time", [statistics.median(each) for each in seconds]), ("memory", sizes)):
        about = {"step": "training", "way": what, "settings": settings}
        rows.append(write(path, "nodes", [slope(counts, values)], "slope", **about))
    return rows


def slope(counts: tuple[int, ...], values: list[float]) -> float:
    """The exponent a of the least-squares fit of values to c counts^a; 1 for linear growth."""
    return statistics.linear_regression([*map(math.log, counts)], [*map(math.log, values)]).slope


def in_new_process(count: int, repeats: int, environment: dict[str, str]) -> dict[str, object]:
    """What :func:`measure` finds."""
    command = [sys.executable, "-m", "benchmarks.nodes", str(count), str(repeats)]
    options = {"cwd": ROOT, "env": environment, "check": True, "stdout": subprocess.PIPE, "text": True}
    return json.loads(subprocess.run(command, **options).stdout)  # noqa: PLW1510


def measure(count: int, repeats: int) -> dict[str, object]:
    """Seconds of a forward and backward pass, one a repeat; bytes added at the peak; the process's whole peak.

    What is added contains the graph as prepared for the model, and all that the passes keep and allocate.
    """
    resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT))
    training_step(*inputs(100))()  # loads what is loaded late
    given = inputs(count)
    reset_peak()
    before = resident()
    step = training_step(*given)
    step()  # completes the preparation of the graph
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - start)
    return {"seconds": seconds, "bytes": peak() - before, "peak": peak()}


def inputs(count: int) -> tuple[Tensor, Tensor, Tensor]:
    """Features (N, F), edges (2, E) and classes (N,) of a random graph."""
    generator = torch.Generator().manual_seed(0)
    edge_index = torch.randint(count, (2, EDGES * count), generator=generator)
    labels = torch.randint(CLASSES, (count,), generator=generator)
    return torch.randn(count, FEATURES, generator=generator), edge_index, labels


def training_step(x: Tensor, edge_index: Tensor, labels: Tensor) -> Callable[[], None]:
    """A forward and a backward pass with all nodes."""
    torch.manual_seed(0)
    model = DIFFormer(FEATURES, WIDTH, CLASSES, num_layers=DEPTH)
    graph = model.propagation(edge_index, len(x))

    def step() -> None:
        model.zero_grad()
        F.cross_entropy(model(x, graph), labels).backward()

    return step


if __name__ == "__main__":
    torch.set_num_threads(THREADS)
    print(json.dumps(measure(int(sys.argv[1]), int(sys.argv[2]))))
