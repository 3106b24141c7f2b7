"""How long the rounds of a training take: epochs of one step, or the steps of one epoch."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from torch import nn

from wavy.training.loop.options import Recipe, Setup
from wavy.training.loop.processes import launched


class Clock(NamedTuple):
    """The seconds that have passed, and those that this process has computed, whatever else the machine did."""

    wall: float
    cpu: float


@contextmanager
def round_starts(model: nn.Module, calls: int = 1) -> Iterator[list[Clock]]:
    """Collect the times at which the rounds of a model in training begin.

    Args:
        model: called in training mode.
        calls: so many times in each round.

    Yields:
        A list that grows by one a round.
    """
    starts, count = [], itertools.count()

    def note(model: nn.Module, inputs: tuple) -> None:
        if model.training and next(count) % calls == 0:
            starts.append(Clock(time.perf_counter(), time.process_time()))

    handle = model.register_forward_pre_hook(note)
    try:
        yield starts
    finally:
        handle.remove()


def calls_a_step(recipe: Recipe, setup: Setup) -> int:
    """How often a step passes a micro-batch through the model, in each process."""
    share = max(1, recipe.batch_size // launched())
    return math.ceil(share / (setup.micro_batch_size or share))


def median_round(starts: list[Clock]) -> Clock | tuple[None, None]:
    """The median time from one start to the next; the end of the last round is not seen."""
    seconds = [(end.wall - start.wall, end.cpu - start.cpu) for start, end in pairwise(starts)]
    return Clock(*map(median, zip(*seconds, strict=True))) if seconds else (None, None)
