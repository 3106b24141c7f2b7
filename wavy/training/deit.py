"""One run on images, from parameters to metrics."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from wavy.data.images import SPLITS, ImageData, load_images
from wavy.experiments.deit_run import DeitRun
from wavy.results import run_hash
from wavy.training.augment import RECIPES
from wavy.training.clock import calls_a_step, median_round, round_starts
from wavy.training.deit_recipe import check_even, deit_recipe, epoch_steps, images_at_once
from wavy.training.device import check_device
from wavy.training.image_examples import ImageExample, collate_images, evaluation_examples, training_examples
from wavy.training.image_models import build_image_model
from wavy.training.loop import ClassTask, NonFinite, Setup, fit
from wavy.training.loop.evaluation import evaluate
from wavy.training.loop.processes import accelerated
from wavy.training.requested import requested_setup

log = logging.getLogger("wavy.training")

#: How many training images a trained model is judged on.
TRAIN_IMAGES = 2000
#: Processes that decode images ahead of time for a GPU.
WORKERS = 8


@dataclass
class DeitFit:
    """What one run found. ``model`` holds the weights after the last epoch, in eval mode.

    ``metrics``: accuracies (shares in [0, 1]) and losses of the validation images, the test images and the first
    ``TRAIN_IMAGES`` training images, without augmentation; last_loss, the mean loss of the last epoch; the median time
    of a step in seconds, step_seconds by the clock and step_cpu_seconds of this process; the number of parameters;
    diverged, 1 where loss or gradient stopped being finite, and then no accuracies and losses.
    ``history``: one row a step: step, loss, grad_norm, lr; empty where the run diverged.
    """

    model: nn.Module
    parts: dict[str, ImageData]
    metrics: dict[str, float | None]
    history: pd.DataFrame


def run_images(run: DeitRun) -> dict[str, ImageData]:
    """The images of a run by split, those for training as many as it says; small ones decoded once and for all."""
    parts = {split: load_images(run.dataset, split) for split in SPLITS}
    if run.images and run.images < len(parts["train"]):
        parts["train"] = parts["train"].sample(run.images)
    return parts if run.dataset == "imagenet" else {split: data.decoded() for split, data in parts.items()}


def train_deit(
    run: DeitRun, device: str = "cpu", folder: Path | None = None, report: Callable[[str], None] | None = None
) -> DeitFit:
    """Train the model that ``run`` describes to the last epoch; nothing is selected.

    Args:
        run: the parameters.
        device: ``cpu``, or ``cuda``.
        folder: of checkpoints, from which a run that was stopped goes on; ``None`` writes none.
        report: called with a line of progress every few seconds.
    """
    check_device(device)
    parts = run_images(run)
    model = build_image_model(run, len(parts["train"].classes), image_side(run, parts["train"]))
    recipe, augmentation = deit_recipe(run, len(parts["train"])), RECIPES[run.augmentation]
    setup = requested_setup(
        run,
        device,
        folder=folder,
        checkpoint_every=epoch_steps(run, len(parts["train"])) if folder else None,
        workers=min(WORKERS, os.cpu_count() or 1) if device == "cuda" else 0,
    )
    mixed = bool(augmentation.mixup or augmentation.cutmix)
    setup = replace(setup, micro_batch_size=images_at_once(setup.micro_batch_size, augmentation.repeats, mixed))
    check_even(recipe, augmentation.repeats, mixed)
    task = ClassTask(smoothing=0.0 if mixed else run.smoothing)
    metrics: dict[str, float | None] = {"diverged": 0}
    with round_starts(model, calls_a_step(recipe, setup)) as starts:
        try:
            history = fit(
                model, task, training_examples(parts["train"], augmentation, run.size), recipe, setup,
                collate=run_collate(run), params_hash=run_hash(run), report=report,
            ).history  # fmt: skip
            metrics["last_loss"] = history["loss"].tail(epoch_steps(run, len(parts["train"]))).mean().item()
        except NonFinite as error:
            log.warning("%s", error)
            history, metrics = pd.DataFrame(), {"diverged": 1, "last_loss": None}
    metrics["parameters"] = sum(parameter.numel() for parameter in model.parameters())
    metrics["step_seconds"], metrics["step_cpu_seconds"] = median_round(starts)
    judged = {"val": parts["validation"], "test": parts["test"], "train": _first(parts["train"], TRAIN_IMAGES)}
    for name, data in judged.items():
        found = None if metrics["diverged"] else _judge(model, run, data, setup)
        metrics |= {f"{name}_{metric}": found and found[metric] for metric in ("accuracy", "loss")}
    return DeitFit(model.eval(), parts, metrics, history)


def image_side(run: DeitRun, data: ImageData) -> int:
    """Side in pixels of the images that the model gets."""
    return run.size or data.images[0].shape[0]


def _judge(model: nn.Module, run: DeitRun, data: ImageData, setup: Setup) -> dict[str, float]:
    examples = evaluation_examples(data, RECIPES[run.augmentation], run.size)
    with accelerated("no", setup) as accelerator:
        return evaluate(
            accelerator, model, ClassTask(), examples,
            batch_size=setup.micro_batch_size or run.batch_size, collate=run_collate(run), workers=setup.workers,
        )  # fmt: skip


def _first(data: ImageData, count: int) -> ImageData:
    return data.take(np.arange(min(count, len(data))))


def run_collate(run: DeitRun) -> Callable[[Sequence[ImageExample]], dict[str, Tensor]]:
    """Joins examples to a batch in the run's precision, see :func:`wavy.training.image_examples.collate_images`."""
    return partial(_in_type, dtype=torch.float64) if run.precision == "float64" else collate_images


def _in_type(examples: Sequence[ImageExample], dtype: torch.dtype) -> dict[str, Tensor]:
    batch = collate_images(examples)
    return {name: value.to(dtype) if value.is_floating_point() else value for name, value in batch.items()}
