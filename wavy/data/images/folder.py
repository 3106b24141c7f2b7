"""Images in folders: ``train/CLASS/...``, ``val/CLASS/...`` and perhaps ``test/CLASS/...``, as ImageNet is unpacked."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from wavy.data.extras import require
from wavy.data.images.image_data import ImageData, training_part
from wavy.data.images.lazy import FilesOnDisk, LazyImages

#: Of the training images, where no folder of images for validation can be spared.
VALIDATION_SHARE = 0.1
#: Those of ImageNet, by which folders of photographs are usually scaled.
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def load_image_folder(folder: Path, split: str, validation_share: float = VALIDATION_SHARE) -> ImageData:
    """Load images from ``train``, ``val`` and ``test`` in a folder. See ``wavy.data.images.load_images``.

    Where there is no ``test``, ``val`` is for testing, and the images for validation are carved out of ``train``.

    Args:
        folder: With one folder of image files a class in each of its parts; files are taken in the order of names.
        split: ``train``, ``validation`` or ``test``.
        validation_share: How much of ``train`` is carved out where it must be.

    Raises:
        ValueError: A folder is missing or a class has no image in it, or the parts differ in their classes.
        DataUnavailable: The package torchvision is missing.
    """
    own = (folder / "test").is_dir()  # then val is for validation, and train needs no carving
    part = {"train": "train", "validation": "val" if own else "train", "test": "test" if own else "val"}[split]
    files, labels, classes = _scan(folder / part)
    if part != "train" and (trained := _classes(folder / "train")) != classes:
        raise ValueError(f"{folder / part}: found {len(classes)} classes, allowed the {len(trained)} of train")
    whole = ImageData(folder.name, split, LazyImages(files), labels, classes, MEAN, STD, mirrors=True, source="folder")
    return whole if part != "train" or own else training_part(whole, split, validation_share)


def _scan(folder: Path) -> tuple[FilesOnDisk, np.ndarray, tuple[str, ...]]:
    torchvision = require("torchvision.datasets", "hosts")
    try:
        found = torchvision.ImageFolder(str(folder))
    except OSError as error:
        raise ValueError(f"{folder}: {' '.join(str(error).split())}") from error
    paths, labels = zip(*found.samples, strict=True)
    return FilesOnDisk(paths), np.array(labels, dtype=np.int64), tuple(found.classes)


def _classes(folder: Path) -> tuple[str, ...]:
    return tuple(sorted(path.name for path in folder.iterdir() if path.is_dir())) if folder.is_dir() else ()
