"""CIFAR-10 (Krizhevsky, 2009) and half the classes of Tiny-ImageNet, as JPEG files packed into npz files.

An npz file holds ``jpeg`` (all files one after another, uint8), ``offsets`` (N + 1, int64) and ``labels`` (N,).
CIFAR-10 was published without losses; these are JPEG encodings of it.
"""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np

from wavy.data.images.image_data import ImageData, training_part
from wavy.data.images.lazy import LazyImages, PackedFiles
from wavy.data.lookup import read_files


@dataclass(frozen=True)
class PackedSet:
    """Where a data set lies, and what is known of it."""

    train: tuple[str, ...]
    test: str
    #: A table with the names of the classes in its third column; ``None`` where the npz files hold the names.
    names: str | None
    mean: tuple[float, float, float]
    std: tuple[float, float, float]


SETS = {
    "cifar10": PackedSet(
        ("images/cifar10/train_jpeg.npz",),
        "images/cifar10/test_jpeg.npz",
        None,
        (0.4913, 0.4821, 0.4465),
        (0.2452, 0.2428, 0.2606),
    ),
    "tiny_imagenet100": PackedSet(
        tuple(f"images/tiny_imagenet100/train_jpeg_{part}.npz" for part in range(4)),
        "images/tiny_imagenet100/val_jpeg.npz",  # Tiny-ImageNet's own test images have no labels
        "images/tiny_imagenet100/classes.tsv",
        (0.4820, 0.4506, 0.3985),
        (0.2751, 0.2668, 0.2798),
    ),
}
#: Of the training images.
VALIDATION_SHARE = 0.1


def load_packed(name: str, split: str) -> ImageData:
    """Load CIFAR-10 or Tiny-ImageNet-100 from packed files. See ``wavy.data.images.load_images``.

    Args:
        name: A key of :data:`SETS`.
        split: ``train``, ``validation`` or ``test``.

    Raises:
        DataUnavailable: The files could not be had.
    """
    known = SETS[name]
    paths = [known.test] if split == "test" else list(known.train)
    contents, source = read_files([*paths, *([known.names] if known.names else [])], [])
    parts = []
    for path in paths:
        with np.load(io.BytesIO(contents.pop(path)), allow_pickle=False) as file:
            parts.append({key: file[key] for key in file.files})
    if known.names:
        lines = contents[known.names].decode("utf-8").splitlines()
        classes = tuple(line.split("\t")[2] for line in lines)
    else:
        classes = tuple(parts[0]["classes"].tolist())
    images, labels = _join(parts)
    whole = ImageData(name, split, images, labels, classes, known.mean, known.std, mirrors=True, source=source)
    return whole if split == "test" else training_part(whole, split, VALIDATION_SHARE)


def _join(parts: list[dict[str, np.ndarray]]) -> tuple[LazyImages, np.ndarray]:
    starts = np.cumsum([0, *(len(part["jpeg"]) for part in parts)])
    offsets = [part["offsets"][:-1] + start for part, start in zip(parts, starts, strict=False)]
    files = PackedFiles(np.concatenate([part["jpeg"] for part in parts]), np.concatenate([*offsets, starts[-1:]]))
    return LazyImages(files), np.concatenate([part["labels"] for part in parts]).astype(np.int64)
