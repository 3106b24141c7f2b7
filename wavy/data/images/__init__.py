"""Images to classify, by name."""

from __future__ import annotations

import difflib
import logging
from functools import partial
from pathlib import Path

from wavy.checks import check_choice
from wavy.data.attempts import first_available
from wavy.data.images.digits import load_digit_images
from wavy.data.images.folder import load_image_folder
from wavy.data.images.hub_images import load_hub_images
from wavy.data.images.image_data import ImageData
from wavy.data.images.imagenet import load_imagenet
from wavy.data.images.lazy import LazyImages
from wavy.data.images.packed import load_packed

__all__ = ["NAMES", "SPLITS", "ImageData", "LazyImages", "load_images"]

SPLITS = ("train", "validation", "test")

log = logging.getLogger("wavy.data")


def _load_cifar10(split: str) -> ImageData:
    attempts = (partial(load_packed, "cifar10", split), partial(load_hub_images, "cifar10", split))
    return first_available(f"cifar10, {split}", attempts)


LOADERS = {
    "digits": load_digit_images,
    "cifar10": _load_cifar10,
    "tiny_imagenet100": partial(load_packed, "tiny_imagenet100"),
    "imagenet": load_imagenet,
}
NAMES = tuple(LOADERS)


def load_images(name: str | Path, split: str) -> ImageData:
    """Load labelled images.

    * ``digits``: 1797 handwritten digits of 8 x 8 pixels, always available; 1293 for training, 144, 360.
    * ``cifar10``: 32 x 32; 45,000 for training, 5,000, and the 10,000 published for testing. From $WAVY_DATA or the
      cache as JPEG files, which lost a little; else as published, through the package ``datasets``.
    * ``tiny_imagenet100``: 64 x 64, 100 of Tiny-ImageNet's 200 classes with 400 training images each; 36,000, 4,000,
      and for testing its 5,000 published validation images. From $WAVY_DATA or the cache only.
    * ``imagenet``: ImageNet-1K, from ``images/imagenet`` in $WAVY_DATA or the cache, else through ``datasets``.
    * the path of a folder with ``train`` and ``val``, or also ``test``, and in each one folder a class.

    The images for validation are carved out of the training images, always the same, each class in its share, so that
    no model is chosen by what it is tested on. Images for training come in random order.

    Args:
        name: One of the names above, or a path.
        split: ``train``, ``validation`` or ``test``.

    Raises:
        ValueError: An unknown name or split, a folder in another form, or $WAVY_DATA or $WAVY_CACHE is no absolute
            path.
        DataUnavailable: The images could not be had; the message says what was tried and what to do.
    """
    check_choice("split", split, SPLITS)
    if not isinstance(name, str | Path) or not str(name):
        raise ValueError(f"name: found {name!r}, allowed {', '.join(NAMES)} or an existing folder")
    if name in NAMES:
        data = LOADERS[name](split)
    elif Path(name).is_dir():
        data = load_image_folder(Path(name), split)
    else:
        nearest = difflib.get_close_matches(str(name).lower(), NAMES, n=1, cutoff=0.0)[0]
        raise ValueError(
            f"name: found {str(name)!r}, allowed {', '.join(NAMES)} or an existing folder; did you mean {nearest!r}?"
        )
    log.info("images %s, %s: from %s", data.name, split, data.source)
    return data
