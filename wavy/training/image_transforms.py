"""Two ways to change images at random: one by one as PIL images, or a whole batch of small ones at once.

Chance comes from the generators of Python, numpy and torch alone. Whoever seeds them for each image and each batch gets
the same changes again, in whatever process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from wavy.extras import require


class ImageTransform:
    """A transform of timm or torchvision for PIL images."""

    def __init__(self, transform: Callable, size: int | None) -> None:
        """Take a transform, and the side that images must have where it does not resize them."""
        self.transform, self.size = transform, size

    def __call__(self, image: np.ndarray) -> Tensor:
        """Image (H, W, 3) uint8 -> pixels (3, size, size) float32."""
        if self.size:
            check_size(image, self.size)
        return self.transform(require("PIL.Image", "hosts").fromarray(image))


class BatchTransform:
    """Shifts, mirror images and scaling of the pixels by a few torch operations for a whole batch."""

    def __init__(self, padding: int, flip: float, mean: Sequence[float], std: Sequence[float]) -> None:
        """Set up the change.

        Args:
            padding: Black pixels around an image, of which a window of its size is cut: the largest shift.
            flip: Probability of the mirror image.
            mean: Of the channels, on the scale [0, 1].
            std: Likewise.
        """
        self.padding, self.flip = padding, flip
        self.mean, self.std = (torch.tensor(numbers).view(3, 1, 1) for numbers in (mean, std))

    def __call__(self, images: Tensor) -> Tensor:
        """Images (B, H, W, 3) uint8 -> pixels (B, 3, H, W) float32."""
        pixels = images.permute(0, 3, 1, 2)
        if self.padding:
            pixels = _shift(pixels, self.padding)
        if self.flip:
            mirrored = torch.rand(len(pixels)) < self.flip
            pixels = torch.where(mirrored.view(-1, 1, 1, 1), pixels.flip(-1), pixels)
        return ((pixels / 255 - self.mean) / self.std).contiguous()


def check_size(image: np.ndarray, size: int) -> None:
    """Check that an image (H, W, 3) is a square of this side.

    Raises:
        ValueError: It is not.
    """
    height, width, _ = image.shape
    if (height, width) != (size, size):
        raise ValueError(f"images: found one of {height} x {width} pixels, allowed {size} x {size}")


def _shift(pixels: Tensor, padding: int) -> Tensor:
    count, _, height, width = pixels.shape
    padded = F.pad(pixels, (padding,) * 4)
    top, left = torch.randint(2 * padding + 1, (2, count, 1))
    rows, columns = top + torch.arange(height), left + torch.arange(width)
    # One index for each axis but the channels', which thereby comes last.
    chosen = padded[torch.arange(count).view(-1, 1, 1), :, rows[:, :, None], columns[:, None, :]]
    return chosen.permute(0, 3, 1, 2)
