"""From visits to batches: each example is made with random numbers of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset, Sampler, default_collate

from wavy.training.loop.order import Visit
from wavy.training.loop.seeds import derived_seed, kept_generators, seed_data

Collate = Callable[[list], Any]


class VisitedExamples(Dataset):
    """Batches by their visits.

    Before an example is made, the generators of Python, numpy and torch get a seed that depends on ``seed``, epoch and
    index: masks and augmentation are the same whichever process or worker makes them, and in a resumed run. What
    ``collate`` draws depends on the first visit of its batch, so on the size of the batches, too. The generators of
    the process itself do not notice any of it.

    Args:
        examples: a data set with a length and items by index.
        collate: joins a list of examples to a batch; ``None`` for torch's default.
        seed: of all random numbers.
    """

    def __init__(self, examples: Dataset, collate: Collate | None, seed: int) -> None:
        self.examples, self.collate, self.seed = examples, collate or default_collate, seed

    def __getitem__(self, visits: Sequence[Visit]) -> Any:
        with kept_generators():
            batch = [self._example(visit) for visit in visits]
            seed_data(derived_seed(self.seed, *visits[0], 1))
            return self.collate(batch)

    def _example(self, visit: Visit) -> Any:
        seed_data(derived_seed(self.seed, *visit))
        return self.examples[visit[1]]


def loader(examples: VisitedExamples, batches: Sampler, workers: int, pin_memory: bool) -> DataLoader:
    """The batches in order, made here (``workers=0``) or ahead of time by worker processes."""
    # A generator of its own, since a loader draws from the common one when it starts.
    return DataLoader(
        examples,
        batch_size=None,
        sampler=batches,
        num_workers=workers,
        collate_fn=_as_it_is,
        pin_memory=pin_memory,
        generator=torch.Generator().manual_seed(0),
    )


def _as_it_is(batch: Any) -> Any:
    return batch
