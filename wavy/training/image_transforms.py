"""Two ways to change images at random, image by image or a whole batch at once; both depend on given keys alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from wavy.training.seeded import seeded, seeds

#: What identifies one drawing of an image: seed, epoch, place in the epoch.
Key = tuple[int, int, int]
#: Images (H, W, 3) uint8, and the key of each -> pixels for the model (B, 3, size, size), float32.
Transform = Callable[[Sequence[np.ndarray], Sequence[Key]], Tensor]


class ImageByImage:
    """Transforms of timm and torchvision for PIL images, each image by its own key."""

    def __init__(self, transform: Callable, size: int | None = None) -> None:
        """Take a transform, and the side that images must have where it does not resize them."""
        self.transform, self.size = transform, size

    def __call__(self, images: Sequence[np.ndarray], keys: Sequence[Key]) -> Tensor:
        """See :data:`Transform`."""
        from PIL import Image  # noqa: PLC0415 (an extra)

        if self.size:
            _check_sizes(images, self.size)
        changed = []
        for image, key in zip(images, keys, strict=True):
            with seeded(*key):
                changed.append(self.transform(Image.fromarray(image)))
        return torch.stack(changed)


class WholeBatch:
    """Shifts, mirror images and scaling of the pixels by a few torch operations for a whole batch of small images."""

    def __init__(self, size: int, padding: int, flip: float, mean: Sequence[float], std: Sequence[float]) -> None:
        """Set up the change.

        Args:
            size: Side that the images must have, and keep.
            padding: Black pixels around an image, of which a window of its size is cut: the largest shift.
            flip: Probability of the mirror image.
            mean: Of the channels, on the scale [0, 1].
            std: Likewise.
        """
        self.size, self.padding, self.flip = size, padding, flip
        self.mean, self.std = (torch.tensor(numbers).view(3, 1, 1) for numbers in (mean, std))

    def __call__(self, images: Sequence[np.ndarray], keys: Sequence[Key]) -> Tensor:
        """See :data:`Transform`; the first key stands for the batch."""
        _check_sizes(images, self.size)
        pixels = torch.from_numpy(np.stack(images)).permute(0, 3, 1, 2)
        generator = torch.Generator().manual_seed(*seeds(keys[0], 1))
        if self.padding:
            pixels = _shift(pixels, self.padding, generator)
        if self.flip:
            mirrored = torch.rand(len(pixels), generator=generator) < self.flip
            pixels = torch.where(mirrored.view(-1, 1, 1, 1), pixels.flip(-1), pixels)
        return ((pixels / 255 - self.mean) / self.std).contiguous()


def _check_sizes(images: Sequence[np.ndarray], size: int) -> None:
    for image in images:
        height, width, _ = image.shape
        if (height, width) != (size, size):
            raise ValueError(f"images: found one of {height} x {width} pixels, allowed {size} x {size}")


def _shift(pixels: Tensor, padding: int, generator: torch.Generator) -> Tensor:
    count, _, height, width = pixels.shape
    padded = F.pad(pixels, (padding,) * 4)
    top, left = torch.randint(2 * padding + 1, (2, count, 1), generator=generator)
    rows, columns = top + torch.arange(height), left + torch.arange(width)
    # One index for each axis but the channels', which thereby comes last.
    chosen = padded[torch.arange(count).view(-1, 1, 1), :, rows[:, :, None], columns[:, None, :]]
    return chosen.permute(0, 3, 1, 2)
