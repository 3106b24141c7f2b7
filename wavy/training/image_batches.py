"""Batches of labelled images that depend on the seed and the epoch, and not on how many processes prepare them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

from wavy.checks import check_width
from wavy.data.images.image_data import ImageData
from wavy.loading.loaded import require
from wavy.training.augment import Augmentation, evaluation_transform, training_transform
from wavy.training.image_transforms import Key, Transform
from wavy.training.seeded import seeded, seeds

if TYPE_CHECKING:
    from timm.data import Mixup

#: One image to be drawn: the key of the drawing and the index of the image.
Draw = tuple[Key, int]


def training_batches(
    data: ImageData, recipe: Augmentation, batch_size: int, *, seed: int, size: int | None = None, workers: int = 0
) -> DataLoader:
    """A loader of changed images in random order; images left over from full batches are dropped.

    Call ``loader.batch_sampler.sampler.set_epoch(k)`` before epoch k (Accelerate's loaders do so themselves).

    Args:
        data: The images.
        recipe: How they are changed, for instance one of :data:`wavy.training.augment.RECIPES`.
        batch_size: Even where images are mixed.
        seed: Of the order and of all changes, a whole number >= 0.
        size: Side of the square that the model gets; ``None`` for that of the images, which are square.
        workers: Processes that prepare batches beside this one; the batches are the same for any number.

    Raises:
        ValueError: The batch size is odd or too large, or no size is given for images that are not square. Or, from
            the loader, an image has another size and the recipe does not resize it.

    Returns:
        A loader that yields pixels (B, 3, size, size) float32 and classes (B,) int64, or where images are mixed the
        weights of the classes (B, C) float32, which sum to 1: both are targets of torch's cross entropy.
    """
    check_width("batch_size", batch_size)
    if batch_size > len(data):
        raise ValueError(f"batch_size: found {batch_size}, allowed at most {len(data)}, the number of images")
    transform = training_transform(recipe, _size(data, size), data.mean, data.std, data.mirrors)
    mix = _mixer(recipe, len(data.classes))
    if mix and batch_size % 2:
        raise ValueError(f"batch_size: found {batch_size}, allowed an even number, since images are mixed in pairs")
    sampler = DrawSampler(len(data), seed, recipe.repeats)
    return _loader(ImageBatches(data, transform, mix), sampler, batch_size, workers, drop_last=True)


def evaluation_batches(
    data: ImageData, recipe: Augmentation, batch_size: int, *, size: int | None = None, workers: int = 0
) -> DataLoader:
    """A loader of all images in their order, with their classes. See :func:`training_batches`."""
    check_width("batch_size", batch_size)
    transform = evaluation_transform(recipe, _size(data, size), data.mean, data.std)
    draws = [((0, 0, place), place) for place in range(len(data))]
    return _loader(ImageBatches(data, transform, None), draws, batch_size, workers, drop_last=False)


class DrawSampler(Sampler[Draw]):
    """All images once in an order of the seed and the epoch; or fewer of them, each ``repeats`` times in a row.

    With Accelerate each process gets every other batch, so that all together draw what one process alone draws, but for
    batches left over.
    """

    def __init__(self, length: int, seed: int, repeats: int) -> None:
        self.length, self.seed, self.repeats, self.epoch = length, seed, repeats, 0

    def set_epoch(self, epoch: int) -> None:
        """Choose the order and the changes of an epoch."""
        self.epoch = epoch

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[Draw]:
        generator = torch.Generator().manual_seed(*seeds((self.seed, self.epoch), 1))
        order = torch.randperm(self.length, generator=generator)
        repeated = order.repeat_interleave(self.repeats)[: self.length].tolist()
        return iter([((self.seed, self.epoch, place), index) for place, index in enumerate(repeated)])


class ImageBatches(Dataset):
    """Draws -> a batch, ready for the model."""

    def __init__(self, data: ImageData, transform: Transform, mix: Mixup | None) -> None:
        self.data, self.transform, self.mix = data, transform, mix

    def __len__(self) -> int:
        return len(self.data)

    def __getitems__(self, draws: Sequence[Draw]) -> tuple[Tensor, Tensor]:
        keys = [key for key, _ in draws]
        pixels = self.transform([self.data.images[index] for _, index in draws], keys)
        labels = torch.from_numpy(self.data.labels[[index for _, index in draws]])
        if self.mix:
            with seeded(*keys[0], 0):  # a key that no drawing has
                return self.mix(pixels, labels)
        return pixels, labels


def _mixer(recipe: Augmentation, num_classes: int) -> Mixup | None:
    if not (recipe.mixup or recipe.cutmix):
        return None
    mixup = require("timm").data.Mixup
    return mixup(recipe.mixup, recipe.cutmix, label_smoothing=recipe.smoothing, num_classes=num_classes)


def _size(data: ImageData, size: int | None) -> int:
    if size is not None:
        check_width("size", size)
        return size
    height, width, _ = data.images[0].shape
    if height != width:
        raise ValueError(f"size: found None for images of {height} x {width} pixels, allowed a whole number")
    return height


def _loader(
    dataset: ImageBatches, sampler: Iterable[Draw], batch_size: int, workers: int, drop_last: bool
) -> DataLoader:
    return DataLoader(
        dataset,
        batch_size,
        sampler=sampler,
        num_workers=workers,
        collate_fn=_as_it_is,
        drop_last=drop_last,
        persistent_workers=workers > 0,
    )


def _as_it_is(batch: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    return batch
