"""Images with their classes, and how parts are taken from them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from wavy.data.images.lazy import Images, stack
from wavy.data.strata import check_count, stratified_order


@dataclass(frozen=True)
class ImageData:
    """The labelled images of one split."""

    name: str
    split: str
    #: ``images[k]`` is (H, W, 3) uint8: an array, or images that are decoded when looked at.
    images: Images
    #: (N,) int64.
    labels: np.ndarray
    #: Names of the classes 0, 1, ...
    classes: tuple[str, ...]
    #: Mean and standard deviation of the red, green and blue pixels of the training images, on the scale [0, 1].
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    #: Whether a mirror image shows the same class; of a digit it does not.
    mirrors: bool
    #: Where the data came from.
    source: str

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, indices: np.ndarray) -> ImageData:
        """The images with these indices, in this order."""
        return replace(self, images=self.images[indices], labels=self.labels[indices])

    def sample(self, count: int, seed: int = 0) -> ImageData:
        """Draw ``count`` images in random order, the classes in their shares; a smaller sample lies in a larger one.

        Raises:
            ValueError: ``count`` is not a whole number from 1 to N.
        """
        check_count(count, len(self))
        return self.take(shuffled(stratified_order(self.labels, seed)[:count], seed))

    def decoded(self) -> ImageData:
        """The same with all images as one array, N * H * W * 3 bytes: quicker to read again and again."""
        return replace(self, images=stack(self.images))


def shuffled(indices: np.ndarray, seed: int) -> np.ndarray:
    """The indices in random order, which depends on nothing but them as a set and the seed."""
    return np.random.RandomState(seed).permutation(np.sort(indices))


def training_part(whole: ImageData, split: str, share: float) -> ImageData:
    """Divide training images into those to train on and those to choose models by, always in the same way.

    Args:
        whole: All images that are not for testing.
        split: ``train`` or ``validation``.
        share: The part for validation, in (0, 1), in which each class gets its share; at least one image.

    Returns:
        The part, in random order, since files often stand ordered by class.
    """
    order = stratified_order(whole.labels, seed=0)
    count = max(1, round(share * len(whole)))
    return replace(whole, split=split).take(shuffled(order[count:] if split == "train" else order[:count], seed=0))
