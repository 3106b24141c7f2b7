"""CIFAR-10 and ImageNet from the hub of the package ``datasets``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wavy.data.extras import require
from wavy.data.hub_tables import load_from_hub
from wavy.data.images.image_data import ImageData, training_part
from wavy.data.images.lazy import LazyImages

if TYPE_CHECKING:
    from datasets import Dataset


@dataclass(frozen=True)
class HubImages:
    """Where a data set lies on the hub, and what is known of it."""

    repository: str
    revision: str
    column: str  # of the images
    test: str  # split that serves for testing: the last one with labels
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    #: Of the training images.
    validation_share: float


#: CIFAR-10 without losses, so its pixels differ a little from those of the packed files. ImageNet-1K asks each user to
#: accept its terms.
SETS = {
    "cifar10": HubImages(
        "uoft-cs/cifar10",
        "0b2714987fa478483af9968de7c934580d0bb9a2",
        "img",
        "test",
        (0.4914, 0.4822, 0.4465),
        (0.2470, 0.2435, 0.2616),
        0.1,
    ),
    "imagenet": HubImages(
        "ILSVRC/imagenet-1k",
        "49e2ee26f3810fb5a7536bbf732a7b07389a47b5",
        "image",
        "validation",
        (0.485, 0.456, 0.406),
        (0.229, 0.224, 0.225),
        0.01,
    ),
}


def load_hub_images(name: str, split: str) -> ImageData:
    """Load images through the package ``datasets``. See ``wavy.data.images.load_images``.

    Args:
        name: A key of :data:`SETS`.
        split: ``train``, ``validation`` (carved out of the training images) or ``test``.

    Raises:
        DataUnavailable: The package is missing, or could not fetch the data.
    """
    known = SETS[name]
    table = load_from_hub(known.repository, split=known.test if split == "test" else "train", revision=known.revision)
    labels, classes = np.array(table["label"], dtype=np.int64), tuple(table.features["label"].names)
    images = LazyImages(HubColumn(table, known.column))
    whole = ImageData(
        name, split, images, labels, classes, known.mean, known.std, mirrors=True, source=known.repository
    )
    return whole if split == "test" else training_part(whole, split, known.validation_share)


class HubColumn(Sequence[bytes]):
    """The image files in a column of a table, which lies on disk and is not read into memory."""

    def __init__(self, table: Dataset, column: str) -> None:
        undecoded = require("datasets", "training").Image(decode=False)
        self.column, self.table = column, table.select_columns([column]).cast_column(column, undecoded)

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, index: int) -> bytes:
        return self.table[index][self.column]["bytes"]
