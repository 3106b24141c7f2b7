"""The steps of a run, one after another, with what comes between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from wavy.training.loop.checkpoints import Checkpoints
from wavy.training.loop.evaluation import evaluate
from wavy.training.loop.examples import Collate, VisitedExamples, loader
from wavy.training.loop.finite import NonFinite, NonFiniteFound, check_weights
from wavy.training.loop.options import Recipe, Setup
from wavy.training.loop.order import MicroBatches, Order
from wavy.training.loop.progress import Progress
from wavy.training.loop.record import Record
from wavy.training.loop.schedule import factor
from wavy.training.loop.step import Stepper
from wavy.training.loop.tasks import Task

if TYPE_CHECKING:
    from accelerate import Accelerator


@dataclass
class Stepping:
    """One run in one process.

    Args:
        accelerator: of the run.
        model, optimizer: as Accelerate prepared them.
        task: says what the loss is, and what evaluation measures.
        recipe, setup: of the run.
        train, validation: data sets.
        collate: joins a list of examples to a batch.
        checkpoints: where to write them, or ``None``.
        record: what was found before.
    """

    accelerator: Accelerator
    model: nn.Module
    optimizer: torch.optim.Optimizer
    task: Task
    recipe: Recipe
    setup: Setup
    train: Dataset
    validation: Dataset | None
    collate: Collate | None
    checkpoints: Checkpoints | None
    record: Record

    def run(self, report: Callable[[str], None] | None) -> None:
        """Do the steps that are left.

        Args:
            report: called with lines of progress, or ``None``.

        Raises:
            NonFinite: loss, gradient or weights are not finite.
        """
        progress = Progress(self.record.step, self.recipe.steps, report)
        batches = self._batches()
        source, a_step = iter(batches), batches.sampler.a_step
        stepper = Stepper(self.accelerator, self.model, self.optimizer, self.task, self.recipe.clip)
        while self.record.step < self.recipe.steps:
            lr = self._set_rate()
            with self._told_of(self.record.step + 1):
                result = stepper.step(source, a_step)
                self.record.add_step(result.loss, result.grad_norm, lr, result.skipped)
                self._after_step()
            progress.after(self.record.step, result.loss, self.record.measured)

    @contextmanager
    def _told_of(self, step: int) -> Iterator[None]:
        try:
            yield
        except NonFiniteFound as found:
            good = self.checkpoints.latest() if self.checkpoints else None
            raise NonFinite(step, str(found), good) from None

    def _batches(self) -> DataLoader:
        order = Order(len(self.train), self.recipe.batch_size, self.recipe.seed)
        steps = range(self.record.step, self.recipe.steps)
        rank, processes = self.accelerator.process_index, self.accelerator.num_processes
        micro = MicroBatches(order, steps, rank, processes, self._micro_batch_size())
        examples = VisitedExamples(self.train, self.collate, self.recipe.seed)
        return loader(examples, micro, self.setup.workers, self.accelerator.device.type == "cuda")

    def _micro_batch_size(self) -> int:
        return self.setup.micro_batch_size or self.recipe.batch_size // self.accelerator.num_processes

    def _set_rate(self) -> float:
        recipe = self.recipe
        lr = recipe.lr * factor(self.record.step, recipe.steps, recipe.warmup, recipe.schedule)
        for group in self.optimizer.param_groups:
            group["lr"] = lr
        return lr

    def _after_step(self) -> None:
        self._log({name: column[-1] for name, column in self.record.history.items()})
        evaluating = self.validation is not None and self._due(self.setup.evaluate_every)
        saving = self.checkpoints is not None and self._due(self.setup.checkpoint_every)
        if evaluating or saving or self._due(None):
            check_weights(self.accelerator, self.model)
        if evaluating:
            self._evaluate()
        if saving:
            self.checkpoints.save(self.accelerator, self.record.step, asdict(self.record))

    def _due(self, every: int | None) -> bool:
        step = self.record.step
        return step == self.recipe.steps or (every is not None and step % every == 0)

    def _evaluate(self) -> None:
        size, workers = self._micro_batch_size(), self.setup.workers
        measured = evaluate(
            self.accelerator, self.model, self.task, self.validation,
            batch_size=size, collate=self.collate, workers=workers,
        )  # fmt: skip
        self.record.evaluations.append({"step": self.record.step, **measured})
        self._log({f"validation/{name}": value for name, value in measured.items()})

    def _log(self, values: dict[str, float]) -> None:
        if self.setup.log_dir:
            self.accelerator.log(values, step=self.record.step)
