"""Accelerate around one training run: one process or several, precision, and nothing left behind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from wavy.extras import require
from wavy.training.loop.folders import check_writable
from wavy.training.loop.options import Recipe, Setup

if TYPE_CHECKING:
    from accelerate import Accelerator


@contextmanager
def accelerated(precision: str, setup: Setup) -> Iterator[Accelerator]:
    """An Accelerator for one run.

    Accelerate keeps its state for the whole process, so that a second one with another precision or device would be
    refused. Here each has a fresh state, and what was there before comes back, after a failure too. The process group
    stays: it belongs to the program that was launched.

    Args:
        precision: as in :class:`~wavy.training.loop.options.Recipe`.
        setup: device, log_dir and find_unused_parameters count.

    Raises:
        ModuleNotFoundError: accelerate, or for a log tensorboard, is missing.
        ValueError: fp16 without a GPU, a log_dir that cannot be written, or processes that do not find each other.
    """
    require("accelerate", "hosts")
    if setup.log_dir:
        require("tensorboard", "training")
        check_writable("log_dir", setup.log_dir)
    # An extra; also slow to import.
    from accelerate import Accelerator, DistributedDataParallelKwargs  # noqa: PLC0415
    from accelerate.utils import GradientAccumulationPlugin  # noqa: PLC0415

    with _fresh_state():
        accelerator = Accelerator(
            mixed_precision=precision,
            # Without a GPU Accelerate looks for other processes only where the CPU is asked for.
            cpu=setup.device == "cpu" or not torch.accelerator.is_available(),
            # The loop adds up gradients itself; a plugin goes before the environment variable of a launcher.
            gradient_accumulation_plugin=GradientAccumulationPlugin(num_steps=1),
            kwargs_handlers=[DistributedDataParallelKwargs(find_unused_parameters=setup.find_unused_parameters)],
            log_with="tensorboard" if setup.log_dir else None,
            project_dir=setup.log_dir,
        )
        _check(accelerator, precision)
        try:
            yield accelerator
        finally:
            for tracker in accelerator.trackers:
                tracker.finish()


@contextmanager
def prepared(
    accelerator: Accelerator, model: nn.Module, optimizer: torch.optim.Optimizer
) -> Iterator[tuple[nn.Module, torch.optim.Optimizer]]:
    """The model and the optimizer as Accelerate wraps them; afterwards the model is as it was, but on its device.

    Accelerate marks a model and replaces its ``forward``; a second run with the mark would go without its precision.
    """
    names = ("forward", "_original_forward", "_is_accelerate_prepared")
    before = {name: vars(model)[name] for name in names if name in vars(model)}
    try:
        yield accelerator.prepare(model, optimizer)
    finally:
        for name in names:
            vars(model).pop(name, None)
        vars(model).update(before)


def start_log(accelerator: Accelerator, setup: Setup, step: int) -> None:
    """Write a log for TensorBoard from after ``step`` on, where the setup asks for one.

    What a stopped run has logged of later steps is taken back.
    """
    if setup.log_dir:
        accelerator.init_trackers("", init_kwargs={"tensorboard": {"purge_step": step + 1}})


def is_main(device: str) -> bool:
    """Whether this is the main process, or the only one."""
    if launched() == 1:
        return True
    with accelerated("no", Setup(device=device)) as accelerator:
        return accelerator.is_main_process


def all_agree(answer: bool, device: str) -> bool:
    """Whether all processes answer yes. Each waits here for the others."""
    if launched() == 1:
        return answer
    with accelerated("no", Setup(device=device)) as accelerator:
        return bool(accelerator.gather(torch.tensor([answer], device=accelerator.device)).all())


def to_device(accelerator: Accelerator, batch: Any) -> Any:
    """The tensors of a batch where the model is."""
    from accelerate.utils import send_to_device  # noqa: PLC0415 (an extra)

    return send_to_device(batch, accelerator.device, non_blocking=True)


def _check(accelerator: Accelerator, precision: str) -> None:
    if accelerator.num_processes != launched():
        raise ValueError(f"WORLD_SIZE: found {launched()}, but Accelerate finds {accelerator.num_processes} process")
    if precision == "fp16" and accelerator.scaler is None:
        raise ValueError(f"precision: found 'fp16' on {accelerator.device.type}, allowed no, bf16")


def launched() -> int:
    """How many processes a launcher says that it has started; 1 without one."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def check_share(recipe: Recipe, processes: int) -> None:
    """Raise ValueError where a batch cannot be shared evenly among the processes."""
    if recipe.batch_size % processes:
        raise ValueError(f"batch_size: found {recipe.batch_size}, allowed a multiple of the {processes} processes")


def check_same_start(accelerator: Accelerator, step: int) -> None:
    """Raise ValueError, in all processes, where they have found checkpoints of different steps."""
    found = accelerator.gather(torch.tensor([step], device=accelerator.device)).tolist()
    if len(set(found)) > 1:
        raise ValueError(f"folder: found checkpoints of steps {found} by process, allowed a folder that all see")


@contextmanager
def _fresh_state() -> Iterator[None]:
    from accelerate.state import AcceleratorState, GradientState, PartialState  # noqa: PLC0415

    shared = [state._shared_state for state in (PartialState, AcceleratorState, GradientState)]
    before = [dict(state) for state in shared]
    _set(shared, [{}] * 3)
    try:
        yield
    finally:
        _set(shared, before)


def _set(shared: list[dict], contents: list[dict]) -> None:
    for state, content in zip(shared, contents, strict=True):
        state.clear()
        state.update(content)
