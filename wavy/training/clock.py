"""How long the rounds of a training take: epochs of one step, or the steps of one epoch."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from torch import nn


class Clock(NamedTuple):
    """The seconds that have passed, and those that this process has computed, whatever else the machine did."""

    wall: float
    cpu: float


@contextmanager
def round_starts(model: nn.Module) -> Iterator[list[Clock]]:
    """Collect the times at which the rounds of a model in training begin.

    Args:
        model: called once in training mode in each round.

    Yields:
        A list that grows by one a round.
    """
    starts = []

    def note(model: nn.Module, inputs: tuple) -> None:
        if model.training:
            starts.append(Clock(time.perf_counter(), time.process_time()))

    handle = model.register_forward_pre_hook(note)
    try:
        yield starts
    finally:
        handle.remove()


def median_round(starts: list[Clock]) -> Clock | tuple[None, None]:
    """The median time from one start to the next; the end of the last round is not seen."""
    seconds = [(end.wall - start.wall, end.cpu - start.cpu) for start, end in pairwise(starts)]
    return Clock(*map(median, zip(*seconds, strict=True))) if seconds else (None, None)
