"""One step: the gradients of its micro-batches, in all processes, then one update."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from wavy.training.loop.finite import NonFiniteFound
from wavy.training.loop.processes import to_device
from wavy.training.loop.tasks import Task

if TYPE_CHECKING:
    from accelerate import Accelerator

#: A scaled loss that overflows so many times in a row does not recover: its scale has fallen by a million.
SKIPS_IN_A_ROW = 20


@dataclass
class StepResult:
    """Mean loss, norm of the gradient before clipping, and whether fp16 overflowed, so that nothing was updated."""

    loss: float
    grad_norm: float
    skipped: bool


class Stepper:
    """Does steps.

    The loss of a step is the sum over all that is counted in the batch (examples, or tokens with a label) divided by
    their number: the same however the batch is split, and however unevenly the labels are spread over the parts.

    Args:
        accelerator: of the run.
        model, optimizer: as Accelerate prepared them.
        task: says what the loss is.
        clip: the largest norm of the gradient; ``None`` for none.
    """

    def __init__(
        self, accelerator: Accelerator, model: nn.Module, optimizer: Any, task: Task, clip: float | None
    ) -> None:
        self.accelerator, self.model, self.optimizer, self.task = accelerator, model, optimizer, task
        self.clip = math.inf if clip is None else clip
        self._in_a_row = 0

    def step(self, batches: Iterator[Any], number: int) -> StepResult:
        """Take ``number`` micro-batches and update the weights once.

        Raises:
            NonFiniteFound: the loss or the norm of the gradient is not finite; the weights are as before.
            ValueError: there is nothing to count in the batch.
        """
        taken = list(islice(batches, number))
        count = self._over_processes(sum(float(self.task.weight(batch)) for batch in taken))
        if not count > 0:
            raise ValueError("task: found a batch in which its weight is 0 in all, allowed at least one label a batch")
        self.model.train()
        self.optimizer.zero_grad()
        total = self._backward(taken, count)
        norm = self.accelerator.clip_grad_norm_(self.model.parameters(), self.clip)
        norm = norm.full_tensor() if hasattr(norm, "full_tensor") else norm
        # The one moment at which the host waits for the device.
        loss, grad_norm = torch.stack([self.accelerator.reduce(total) / count, norm.float()]).tolist()
        self._check(loss, grad_norm)
        self.optimizer.step()
        return StepResult(loss, grad_norm, self.optimizer.step_was_skipped)

    def _backward(self, batches: Sequence[Any], count: float) -> torch.Tensor:
        total = torch.zeros((), device=self.accelerator.device)
        for place, batch in enumerate(batches, start=1):
            on_device = to_device(self.accelerator, batch)
            with nullcontext() if place == len(batches) else self.accelerator.no_sync(self.model):
                loss = self.task.loss(self.model, on_device)
                # Between processes gradients are averaged, not added.
                self.accelerator.backward(loss * (self.accelerator.num_processes / count))
            total += loss.detach()
        return total

    def _over_processes(self, number: float) -> float:
        if self.accelerator.num_processes == 1:
            return number
        return self.accelerator.reduce(torch.tensor(number, device=self.accelerator.device)).item()

    def _check(self, loss: float, grad_norm: float) -> None:
        if not math.isfinite(loss):
            raise NonFiniteFound(f"loss {loss}")
        self._in_a_row = 0 if math.isfinite(grad_norm) else self._in_a_row + 1
        if self._in_a_row > (0 if self.accelerator.scaler is None else SKIPS_IN_A_ROW):
            raise NonFiniteFound(f"norm of the gradient {grad_norm}")
