"""How images are changed before a model sees them: DeiT's recipe by timm, and a light one for small images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from wavy.extras import require
from wavy.training.image_transforms import BatchTransform, ImageTransform, check_size

if TYPE_CHECKING:
    from PIL import Image
    from timm.data.auto_augment import AugmentOp

#: Up to this size DeiT's code shifts an image instead of cutting out and enlarging a part of it.
SMALL = 32


@dataclass(frozen=True)
class Augmentation:
    """A recipe for training images. Mirroring is left out where a mirror image shows another class."""

    #: Largest shift of an image, as a share of its side.
    shift: float = 1 / 8
    #: In place of a shift, cut out and enlarge a random part; only of images larger than ``SMALL``.
    resize: bool = False
    #: Probability of the mirror image.
    flip: float = 0.5
    #: timm's name of a RandAugment policy; empty for none.
    rand_augment: str = ""
    #: Probability that a rectangle is replaced by noise.
    erase: float = 0.0
    #: Parameter of the beta distribution for mixing two images, and for pasting a part of one into the other.
    mixup: float = 0.0
    cutmix: float = 0.0
    #: Of the labels, where images are mixed.
    smoothing: float = 0.0
    #: How many versions of an image a batch holds, each changed on its own (repeated augmentation).
    repeats: int = 1


#: ``deit``: as the code of DeiT (Touvron et al., ICML 2021) sets it. ``light``: shifts and mirror images
#: alone. ``plain``: none, for a short run: tiny models learn 8 x 8 pixels more slowly where these are shifted.
RECIPES = {
    "deit": Augmentation(
        resize=True,
        rand_augment="rand-m9-mstd0.5-inc1",
        erase=0.25,
        mixup=0.8,
        cutmix=1.0,
        smoothing=0.1,
        repeats=3,
    ),
    "light": Augmentation(),
    "plain": Augmentation(shift=0.0, flip=0.0),
}


@dataclass(frozen=True)
class Changes:
    """A recipe set up for one kind of images, but for repeating and mixing them."""

    #: Image (H, W, 3) uint8 -> what is stacked to a batch.
    image: Callable[[np.ndarray], Tensor]
    #: The stack -> pixels for the model (B, 3, size, size) float32.
    batch: Callable[[Tensor], Tensor]


def training_changes(
    recipe: Augmentation, size: int, mean: Sequence[float], std: Sequence[float], mirrors: bool
) -> Changes:
    """How a recipe changes images for training.

    Without RandAugment, erasing and resizing a whole batch is changed at once, which is many times quicker.

    Args:
        recipe: See :class:`Augmentation`.
        size: Side of the square that the model gets; images that are not resized must have it already.
        mean: Of the channels, on the scale [0, 1].
        std: Likewise.
        mirrors: Whether a mirror image shows the same class.

    Raises:
        ValueError: The package timm is missing.
    """
    flip, padding, resize = recipe.flip if mirrors else 0.0, round(recipe.shift * size), recipe.resize and size > SMALL
    if not (resize or recipe.rand_augment or recipe.erase):
        return Changes(partial(_bytes, size=size), BatchTransform(padding, flip, mean, std))
    transform = require("timm", "hosts").data.create_transform(
        input_size=size,
        is_training=True,
        hflip=flip,
        color_jitter=None,
        auto_augment=recipe.rand_augment or None,
        interpolation="bicubic",
        mean=tuple(mean),
        std=tuple(std),
        re_prob=recipe.erase,
        re_mode="pixel",
    )
    for step in transform.transforms:
        for operation in getattr(step, "ops", ()):  # those of RandAugment
            _allow_no_bits(operation)
    if not resize:
        transform.transforms[0] = require("torchvision", "hosts").transforms.RandomCrop(size, padding=padding)
    return Changes(ImageTransform(transform, None if resize else size), _as_it_is)


def evaluation_changes(recipe: Augmentation, size: int, mean: Sequence[float], std: Sequence[float]) -> Changes:
    """What images get for judging a model: scaled pixels; where training resizes, the middle 7/8, enlarged.

    Args:
        recipe: The one of training.
        size: Side of the square that the model gets; images that are not resized must have it already.
        mean: Of the channels, on the scale [0, 1].
        std: Likewise.

    Raises:
        ValueError: The package timm is missing.
    """
    if not (recipe.resize and size > SMALL):
        return Changes(partial(_bytes, size=size), BatchTransform(0, 0.0, mean, std))
    scale = {"mean": tuple(mean), "std": tuple(std)}
    transform = require("timm", "hosts").data.create_transform(size, interpolation="bicubic", crop_pct=0.875, **scale)
    return Changes(ImageTransform(transform, None), _as_it_is)


def _bytes(image: np.ndarray, size: int) -> Tensor:
    check_size(image, size)
    return torch.from_numpy(image)


def _as_it_is(pixels: Tensor) -> Tensor:
    return pixels


def _allow_no_bits(operation: AugmentOp) -> None:
    """Let the strongest posterisation, to 0 bits, give a black image as it always did; Pillow 13 refuses it."""
    if operation.name == "PosterizeIncreasing":
        operation.aug_fn = partial(_posterize, otherwise=operation.aug_fn)


def _posterize(image: Image.Image, bits: int, *, otherwise: Callable, **options) -> Image.Image:
    return otherwise(image, bits, **options) if bits else image.point(lambda _: 0)
