"""Images that stay files until they are looked at."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, overload

import numpy as np

from wavy.data.extras import require


class Images(Protocol):
    """What all kinds of images share: ``images[k]`` is one, ``images[indices]`` are some, in the same form.

    An array (N, H, W, 3), uint8, is of this kind, and so is :class:`LazyImages`.
    """

    def __len__(self) -> int: ...

    @overload
    def __getitem__(self, index: int) -> np.ndarray: ...

    @overload
    def __getitem__(self, index: np.ndarray) -> Images: ...


class LazyImages:
    """Images in a file format of their own (JPEG, PNG, ...), each decoded when it is looked at, and not kept.

    ``images[k]`` is (H, W, 3) uint8, grey images and palettes turned into RGB; ``images[indices]`` are those images,
    still files, that share ``files`` with the whole.
    """

    def __init__(self, files: Sequence[bytes], chosen: Sequence[int] | None = None) -> None:
        """Make images of files.

        Args:
            files: The content of each file, or something that reads it when asked.
            chosen: (N,) which of them, in this order; ``None`` for all.
        """
        self.files = files
        self.chosen = np.arange(len(files)) if chosen is None else np.asarray(chosen)

    def __len__(self) -> int:
        return len(self.chosen)

    def __getitem__(self, index):
        if np.ndim(index) or isinstance(index, slice):
            return LazyImages(self.files, self.chosen[index])
        return decode(self.files[int(self.chosen[index])])


def decode(content: bytes) -> np.ndarray:
    """The pixels (H, W, 3) uint8 of an image file.

    Raises:
        ValueError: It is not the file of an image.
        DataUnavailable: The package Pillow is missing.
    """
    pillow = require("PIL.Image", "hosts")
    try:
        with pillow.open(io.BytesIO(content)) as image:
            return np.array(image.convert("RGB"))
    except (OSError, SyntaxError) as error:
        kind = type(error).__name__
        raise ValueError(f"image: found {len(content)} bytes that are no image ({kind}), allowed an image") from error


def stack(images: Images) -> np.ndarray:
    """Decode images of one size into one array (N, H, W, 3), uint8."""
    return images if isinstance(images, np.ndarray) else np.stack([images[k] for k in range(len(images))])


class PackedFiles(Sequence[bytes]):
    """Files that lie one after another in one array."""

    def __init__(self, content: np.ndarray, offsets: np.ndarray) -> None:
        """Take the files k = ``content[offsets[k] : offsets[k + 1]]``."""
        self.content, self.offsets = content, offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> bytes:
        return self.content[self.offsets[index] : self.offsets[index + 1]].tobytes()


class FilesOnDisk(Sequence[bytes]):
    """Files of a folder, read when asked for."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = paths

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> bytes:
        return Path(self.paths[index]).read_bytes()
