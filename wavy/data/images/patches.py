"""Images as sequences of tokens: scikit-learn's handwritten digits, cut into patches."""

from __future__ import annotations

import torch
from sklearn.datasets import load_digits
from torch import Tensor

#: Side of a patch in pixels, so that 8 x 8 pixels make 4 x 4 = 16 tokens of 4 channels.
PATCH = 2


def load_digit_patches() -> tuple[Tensor, Tensor]:
    """The 1797 images of 8 x 8 pixels as sequences of 16 tokens; always available.

    Returns:
        Tokens (1797, 16, 4), float32 in [0, 1], patches row by row and pixels row by row within a patch; and the
        digits (1797,), int64.
    """
    digits = load_digits()
    pixels = torch.from_numpy(digits.images / 16.0).float()  # pixels are integers from 0 to 16
    return cut_patches(pixels, PATCH), torch.from_numpy(digits.target).long()


def cut_patches(images: Tensor, size: int) -> Tensor:
    """Cut images (B, height, width) into patches: (B, height / size * width / size, size^2).

    Raises:
        ValueError: ``size`` does not divide height and width.
    """
    batch, height, width = images.shape
    if height % size or width % size:
        raise ValueError(f"size: found {size} for images of {height} x {width} pixels, allowed a divisor of both")
    grid = images.view(batch, height // size, size, width // size, size).transpose(2, 3)
    return grid.reshape(batch, -1, size * size)
