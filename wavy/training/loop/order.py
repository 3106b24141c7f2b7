"""Which examples make up a step, and which of them a process takes: a function of seed and step alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache

import torch
from torch import Tensor
from torch.utils.data import Sampler

from wavy.training.loop.seeds import derived_seed

#: One visit to an example: (epoch, index).
Visit = tuple[int, int]


class Order:
    """The endless sequence of visits: all examples in random order, then all of them in another, and so on.

    A step takes the next ``batch_size`` visits. So each batch is full, also across the end of an epoch, and no example
    is left out. Nothing else has to be known to go on at a step.

    Args:
        size: examples in the data set.
        batch_size: visits a step, over all processes.
        seed: another seed, another order.
    """

    def __init__(self, size: int, batch_size: int, seed: int) -> None:
        self.size, self.batch_size, self.seed = size, batch_size, seed
        self._permutation = lru_cache(maxsize=2)(self._permute)

    def batch(self, step: int) -> list[Visit]:
        """The visits of a step, counted from 0."""
        first, visits = step * self.batch_size, []
        while len(visits) < self.batch_size:
            epoch, start = divmod(first + len(visits), self.size)
            taken = self._permutation(epoch)[start : start + self.batch_size - len(visits)]
            visits += [(epoch, index) for index in taken.tolist()]
        return visits

    def _permute(self, epoch: int) -> Tensor:
        generator = torch.Generator().manual_seed(derived_seed(self.seed, epoch))
        return torch.randperm(self.size, generator=generator)


def share(items: Sequence, rank: int, processes: int) -> Sequence:
    """The part of a process: contiguous, and equal in size to all others where ``processes`` divides the number."""
    return items[len(items) * rank // processes : len(items) * (rank + 1) // processes]


def split(items: Sequence, most: int) -> list[Sequence]:
    """Contiguous parts of nearly equal size with at most ``most`` items each, as few as that allows."""
    parts = math.ceil(len(items) / most)
    return [share(items, part, parts) for part in range(parts)]


class MicroBatches(Sampler):
    """The micro-batches of one process, step after step.

    Args:
        order: of the data set.
        steps: the steps to go through.
        rank, processes: which process, of how many.
        most: examples in a micro-batch, at most.
    """

    def __init__(self, order: Order, steps: range, rank: int, processes: int, most: int) -> None:
        self.order, self.steps, self.rank, self.processes, self.most = order, steps, rank, processes, most

    @property
    def a_step(self) -> int:
        """Micro-batches a step."""
        return math.ceil(self.order.batch_size // self.processes / self.most)

    def __iter__(self) -> Iterator[Sequence[Visit]]:
        for step in self.steps:
            yield from split(share(self.order.batch(step), self.rank, self.processes), self.most)

    def __len__(self) -> int:
        return len(self.steps) * self.a_step
