"""Evaluation in all processes, each example exactly once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.utils.data import Dataset, Sampler

from wavy.training.loop.examples import Collate, VisitedExamples, loader
from wavy.training.loop.order import Visit, share
from wavy.training.loop.processes import to_device
from wavy.training.loop.tasks import Task

if TYPE_CHECKING:
    from accelerate import Accelerator


class EvenShares(Sampler):
    """The examples in their order, in batches of which each process takes a part of the same size.

    Where the last batch cannot be shared evenly, its last example is repeated: the repetitions come at the end of what
    is gathered, and are cut off there.

    Args:
        size: examples.
        a_process: examples in a batch for each process, at most.
        rank, processes: which process, of how many.
    """

    def __init__(self, size: int, a_process: int, rank: int, processes: int) -> None:
        self.size, self.a_process, self.rank, self.processes = size, a_process, rank, processes

    def __iter__(self) -> Iterator[Sequence[Visit]]:
        batch = self.a_process * self.processes
        for start in range(0, self.size, batch):
            indices = list(range(start, min(start + batch, self.size)))
            indices += [indices[-1]] * (-len(indices) % self.processes)
            yield [(0, index) for index in share(indices, self.rank, self.processes)]

    def __len__(self) -> int:
        return math.ceil(self.size / (self.a_process * self.processes))


@torch.no_grad()
def evaluate(
    accelerator: Accelerator,
    model: nn.Module,
    task: Task,
    examples: Dataset,
    *,
    batch_size: int,
    collate: Collate | None = None,
    workers: int = 0,
) -> dict[str, float]:
    """What the task measures on a data set, the same in all processes and however many there are.

    Random numbers in the examples are the same each time, whatever the seed of the run.

    Args:
        accelerator: of the run.
        model: as Accelerate prepared it; put into eval mode.
        task: gives outputs for each example, and measures of all of them.
        examples: a data set with a length and items by index.
        batch_size: examples that a process passes through the model at once.
        collate: joins a list of examples to a batch.
        workers: processes that make the batches ahead of time.
    """
    model.eval()
    shares = EvenShares(len(examples), batch_size, accelerator.process_index, accelerator.num_processes)
    gathered: dict[str, list] = {}
    batches = loader(VisitedExamples(examples, collate, seed=0), shares, workers, accelerator.device.type == "cuda")
    for batch in batches:
        outputs = task.outputs(model, to_device(accelerator, batch))
        for name, values in outputs.items():
            gathered.setdefault(name, []).append(accelerator.gather(values.to(accelerator.device).contiguous()).cpu())
    return task.metrics({name: torch.cat(values)[: len(examples)] for name, values in gathered.items()})
