"""The metrics of one run on images: what it learned, and the diagnosis of what was trained."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from wavy.data.images import ImageData
from wavy.experiments.deit_run import DeitRun
from wavy.training.augment import RECIPES
from wavy.training.deit import image_side, run_collate, train_deit
from wavy.training.image_examples import evaluation_examples
from wavy.training.image_models import build_image_model
from wavy.training.image_state import attention_measures, class_measures, image_profile
from wavy.training.long_runs import checkpoint_folder
from wavy.training.trained_state import state_measures

#: How many test images a model is diagnosed on: for what the head reads, for its states, and for its attention.
HEAD_IMAGES, STATE_IMAGES, ATTENTION_IMAGES = 1000, 100, 50


def deit_metrics(run: DeitRun, device: str = "cpu") -> dict[str, float | None]:
    """The metrics of one run, for :func:`wavy.sweep.sweep`.

    Beside those of :class:`wavy.training.deit.DeitFit`: guess_accuracy, the share of the largest class among the test
    images; lambda_mean, over layers and channels, for a kind with a lambda; and the diagnosis on test images
    (:mod:`wavy.training.image_state`), of the model as initialised (``init_``) and as trained. For runs on ImageNet
    see :mod:`wavy.training.long_runs`.
    """
    folder = checkpoint_folder(run)
    found = train_deit(run, device, folder, print if folder else None)
    labels = found.parts["test"].labels
    metrics = found.metrics | {"guess_accuracy": (np.bincount(labels).max() / len(labels)).item()}
    start = build_image_model(run, len(found.parts["test"].classes), image_side(run, found.parts["test"])).to(device)
    metrics |= {f"init_{name}": value for name, value in diagnosis(start, run, found.parts["test"], device).items()}
    trained = {} if metrics["diverged"] else diagnosis(found.model, run, found.parts["test"], device)
    return metrics | trained | {"lambda_mean": mean_lambda(found.model)}


def diagnosis(model: nn.Module, run: DeitRun, data: ImageData, device: str = "cpu") -> dict[str, float | None]:
    """The measures of :mod:`wavy.training.image_state` of a model, on images that are the same for all models."""
    pixels, labels = diagnosed_images(run, data, device)
    return {
        **state_measures(image_profile(model, pixels[:STATE_IMAGES]), final_norm=True),
        **class_measures(model, pixels, labels),
        **attention_measures(model, pixels[:ATTENTION_IMAGES], run.tau),
    }


def diagnosed_images(run: DeitRun, data: ImageData, device: str = "cpu") -> tuple[Tensor, Tensor]:
    """Pixels and classes of up to ``HEAD_IMAGES`` of the images, each class in its share, in random order."""
    examples = evaluation_examples(data.sample(min(HEAD_IMAGES, len(data))), RECIPES[run.augmentation], run.size)
    batch = run_collate(run)([examples[index] for index in range(len(examples))])
    return batch["x"].to(device), batch["labels"].to(device)


def mean_lambda(model: nn.Module) -> float | None:
    """Mean of lambda over layers and channels, ``None`` for a kind without."""
    thetas = [theta.detach() for name, theta in model.named_parameters() if name.endswith("residual.theta")]
    return torch.cat(thetas).sigmoid().mean().item() if thetas else None
