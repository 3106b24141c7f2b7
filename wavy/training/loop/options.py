"""What a training run computes (:class:`Recipe`), and where and how it is done (:class:`Setup`)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wavy.checks import check_choice
from wavy.training.device import check_device
from wavy.training.loop.schedule import SCHEDULES
from wavy.training.loop.stored import store_number, store_shares, store_whole

#: ``no`` is single precision.
PRECISIONS = ("no", "bf16", "fp16")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What is computed. A run goes on only from checkpoints of the same recipe.

    Args:
        steps: updates of the weights.
        batch_size: examples a step, over all processes and micro-batches together.
        lr: AdamW's learning rate after warm-up.
        weight_decay: AdamW's; see :func:`wavy.training.loop.groups.parameter_groups` for what it acts on.
        betas, eps: AdamW's.
        schedule: ``constant``, ``linear`` or ``cosine`` after warm-up.
        warmup: steps in which the learning rate rises from 0.
        clip: the largest norm of the gradient; ``None`` leaves it as it is.
        precision: of matrix products: ``no`` (single), ``bf16``, or ``fp16`` with a scaled loss (needs a GPU).
        seed: of the order of the data, all random numbers in them, and dropout.

    Raises:
        ValueError: an argument out of its range.
    """

    steps: int
    batch_size: int
    lr: float
    weight_decay: float = 0.01
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    schedule: str = "linear"
    warmup: int = 0
    clip: float | None = 1.0
    precision: str = "no"
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("steps", 1), ("batch_size", 1), ("warmup", 0), ("seed", 0)):
            store_whole(self, name, least)
        check_choice("schedule", self.schedule, SCHEDULES)
        check_choice("precision", self.precision, PRECISIONS)
        for name in ("lr", "eps") if self.clip is None else ("lr", "eps", "clip"):
            store_number(self, name, zero=False)
        store_number(self, "weight_decay", zero=True)
        store_shares(self, "betas", 2)
        if self.warmup >= self.steps:
            raise ValueError(f"warmup: found {self.warmup!r}, allowed 0 <= warmup < steps = {self.steps}")


@dataclass(frozen=True, kw_only=True)
class Setup:
    """Where and how it is done. Nothing here changes what is computed, but for rounding.

    Args:
        micro_batch_size: examples that a process passes through the model at once, at most; ``None`` for all of its
            share of a batch. The gradients of the micro-batches of a step are added up.
        evaluate_every: steps between evaluations; ``None`` evaluates after the last step only.
        folder: of checkpoints, and where a run goes on from; on several machines one that all of them see. ``None``
            writes none.
        checkpoint_every: steps between checkpoints; ``None`` writes one after the last step only.
        keep: how many checkpoints stay.
        workers: processes that make the batches ahead of time, for each training process; 0 for none.
        device: ``cpu`` or ``cuda``; ``None`` leaves the choice to Accelerate: a GPU where there is one. Of several GPUs
            each process takes its own.
        find_unused_parameters: for a model with parameters that a step may not use, in several processes. No wavy
            model needs it.
        log_dir: folder for TensorBoard; ``None`` for none.

    Raises:
        ValueError: an argument out of its range.
    """

    micro_batch_size: int | None = None
    evaluate_every: int | None = None
    folder: Path | None = None
    checkpoint_every: int | None = None
    keep: int = 2
    workers: int = 0
    device: str | None = None
    find_unused_parameters: bool = False
    log_dir: Path | None = None

    def __post_init__(self) -> None:
        for name in ("micro_batch_size", "evaluate_every", "checkpoint_every"):
            if getattr(self, name) is not None:
                store_whole(self, name, 1)
        store_whole(self, "keep", 1)
        store_whole(self, "workers", 0)
        if self.device is not None:
            check_device(self.device)
        if self.checkpoint_every and not self.folder:
            raise ValueError("folder: found None, allowed a folder where checkpoint_every is given")
