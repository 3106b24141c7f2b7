"""ImageNet-1K (Russakovsky et al., 2015), from a folder or the hub."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from wavy.data.attempts import first_available
from wavy.data.cache import cache_folder, folder_from_env
from wavy.data.images.folder import load_image_folder
from wavy.data.images.hub_images import SETS, load_hub_images
from wavy.data.images.image_data import ImageData
from wavy.data.sources import DataUnavailable

#: Below $WAVY_DATA or the cache; in it ``train`` and ``val`` with a folder a class, as usually unpacked.
FOLDER = "images/imagenet"


def load_imagenet(split: str) -> ImageData:
    """Load ImageNet-1K; its files are not checked. See ``wavy.data.images.load_images``.

    Args:
        split: ``train``, ``validation`` (one in a hundred training images) or ``test`` (the published images for
            validation, by which models are compared).

    Raises:
        DataUnavailable: It is not there, and could not be fetched.
    """
    return first_available(f"imagenet, {split}", _attempts(split))


def _attempts(split: str) -> list[Callable[[], ImageData]]:
    places = (("$WAVY_DATA", folder_from_env("WAVY_DATA")), ("cache", cache_folder()))
    folders = [partial(_from_folder, label, root, split) for label, root in places if root]
    return [*folders, partial(load_hub_images, "imagenet", split)]


def _from_folder(label: str, root: Path, split: str) -> ImageData:
    if not (root / FOLDER).is_dir():
        raise DataUnavailable(f"{label}: no folder {FOLDER}.")
    return replace(load_image_folder(root / FOLDER, split, SETS["imagenet"].validation_share), source=label)
