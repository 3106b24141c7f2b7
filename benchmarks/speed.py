"""Time of inference and of a training step, as ratios to the stock model in the same process."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.allocator import freed_memory
from benchmarks.models import Case, build, inference_step, training_step
from benchmarks.rows import write
from wavy.dynamics import KINDS


def interleaved(steps: dict[str, Callable[[], None]], repeats: int) -> dict[str, list[float]]:
    """Seconds of each step, round by round: what slows the machine for a while slows all of a round.

    Args:
        steps: name -> what to time.
        repeats: rounds; one more is run first, and not kept.
    """
    found: dict[str, list[float]] = {name: [] for name in steps}
    names = list(steps)
    for turn in range(repeats + 1):
        # Each goes first in its turn, so that none always finds the caches warm.
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            start = time.perf_counter()
            steps[name]()
            if turn:
                found[name].append(time.perf_counter() - start)
    return found


def measure(name: str, case: Case, path: Path | None, repeats: int) -> list[dict[str, object]]:
    """Rows of the ratios of all residual kinds, for inference and training."""
    batch = case.inputs(case.batch)
    models = {kind: build(case, kind) for kind in ("stock", *KINDS)}
    rows = []
    for step in ("inference", "training"):
        make = training_step if step == "training" else lambda _, model, batch: inference_step(model, batch)
        seconds = interleaved({kind: make(case, model, batch) for kind, model in models.items()}, repeats)
        about = {"model": name, "step": step, "batch": case.batch, "settings": case.settings}
        about["freed_memory"] = freed_memory()
        rows.append(write(path, "speed", seconds["stock"], "s", residual="stock", **about))
        for kind in KINDS:
            ratios = [own / stock for own, stock in zip(seconds[kind], seconds["stock"], strict=True)]
            rows.append(write(path, "speed", ratios, "ratio", residual=kind, **about))
    return rows


def run(cases: dict[str, Case], path: Path | None, repeats: int | None = None) -> list[dict[str, object]]:
    """Rows for all models; ``None`` for as many rounds as each case asks for."""
    return [row for name, case in cases.items() for row in measure(name, case, path, repeats or case.rounds)]
