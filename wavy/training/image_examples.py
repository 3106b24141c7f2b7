"""Labelled images as examples for training: changed by a recipe, repeated and mixed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils.data import Dataset

from wavy.checks import check_whole
from wavy.data.images.image_data import ImageData
from wavy.extras import require
from wavy.training.augment import Augmentation, Changes, evaluation_changes, training_changes

#: Versions and labels of a batch -> pixels (B, 3, size, size) float32, and classes (B,) or their shares (B, C).
Mix = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


class ImageExample(NamedTuple):
    """One image on its way into a batch."""

    #: Its versions, one after another along the first axis.
    versions: Tensor
    label: int
    #: From the versions and labels of all examples to the batch.
    to_batch: Mix


class ImageExamples(Dataset):
    """Images by their index, for a loader with :func:`collate_images`.

    Chance comes from the generators of Python, numpy and torch alone: seed them for each example and before each call
    of ``collate_images``, and batches do not depend on the number of worker processes.
    """

    def __init__(self, data: ImageData, changes: Changes, repeats: int, mix: Mix | None) -> None:
        self.data, self.changes, self.repeats, self.mix = data, changes, repeats, mix

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> ImageExample:
        image = self.data.images[index]
        versions = torch.stack([self.changes.image(image) for _ in range(self.repeats)])
        return ImageExample(versions, int(self.data.labels[index]), self._to_batch)

    def _to_batch(self, versions: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        pixels = self.changes.batch(versions)
        if self.mix is None:
            return pixels, labels
        if len(pixels) % 2:
            raise ValueError(
                f"batch: found {len(pixels)} images, allowed an even number, since they are mixed in pairs"
            )
        return self.mix(pixels, labels)


def collate_images(examples: Sequence[ImageExample]) -> dict[str, Tensor]:
    """Join examples to a batch, in the way that belongs to them: those for judging a model are never mixed.

    Returns:
        x (B, 3, size, size) float32, and labels: classes (B,) int64, or where images are mixed the shares of the
        classes (B, C) float32, which sum to 1. Both are targets of torch's cross entropy. B is the number of
        examples times the repeats of the recipe.
    """
    versions = torch.cat([example.versions for example in examples])
    labels = torch.tensor([example.label for example in examples]).repeat_interleave(len(examples[0].versions))
    pixels, labels = examples[0].to_batch(versions, labels)
    return {"x": pixels, "labels": labels}


def training_examples(data: ImageData, recipe: Augmentation, size: int | None = None) -> ImageExamples:
    """Images for training, changed anew each time.

    Args:
        data: The images.
        recipe: How they are changed, for instance one of :data:`wavy.training.augment.RECIPES`.
        size: Side of the square that the model gets; ``None`` for that of the images, which are square.

    Raises:
        ValueError: No size for images that are not square, or the package timm is missing. Or, from an example, an
            image has another size and the recipe does not resize it.
    """
    mixed = recipe.mixup or recipe.cutmix
    options = {"label_smoothing": recipe.smoothing, "num_classes": len(data.classes)}
    mix = require("timm", "hosts").data.Mixup(recipe.mixup, recipe.cutmix, **options) if mixed else None
    changes = training_changes(recipe, _size(data, size), data.mean, data.std, data.mirrors)
    return ImageExamples(data, changes, recipe.repeats, mix)


def evaluation_examples(data: ImageData, recipe: Augmentation, size: int | None = None) -> ImageExamples:
    """Images for judging a model that was trained by a recipe: only scaled, and resized where the recipe does.

    Args and errors as of :func:`training_examples`.
    """
    return ImageExamples(data, evaluation_changes(recipe, _size(data, size), data.mean, data.std), 1, None)


def _size(data: ImageData, size: int | None) -> int:
    if size is not None:
        check_whole("size", size)
        return size
    height, width, _ = data.images[0].shape
    if height != width:
        raise ValueError(f"size: found None for images of {height} x {width} pixels, allowed a whole number")
    return height
