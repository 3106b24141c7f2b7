"""Images for a model: those of a folder, or two photographs that come with scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from PIL import Image

from wavy.loading.loaded import ImageInput
from wavy.samples.sample import Sample

#: Names of files that are taken for images.
SUFFIXES = (".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp")


def image_input(takes: ImageInput, folder: Path | None, limit: int) -> Sample:
    """The first images of a folder and its subfolders, sorted by path, as the model wants them.

    Args:
        takes: how the model wants them.
        folder: ``None`` for the built-in photographs.
        limit: the most images.

    Raises:
        ValueError: no such folder, or no image in it that can be read.
    """
    if folder is None:
        images = _photographs()[:limit]
        return Sample((takes.prepare(images),), f"{len(images)} photographs that come with scikit-learn")
    if not folder.is_dir():
        raise ValueError(f"images: found {'a file' if folder.exists() else 'nothing'} at {folder}, allowed a folder")
    images, unreadable = [], []
    for path in _files(folder):
        try:
            with Image.open(path) as file:
                images.append(file.convert("RGB"))
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
            unreadable.append(str(path))
        if len(images) == limit:
            break
    if not images:
        found = f"{len(unreadable)} that cannot be read" if unreadable else "no image"
        raise ValueError(f"images: found {found} in {folder}, allowed files {', '.join(SUFFIXES)}")
    return Sample((takes.prepare(images),), f"{len(images)} images of {folder}", tuple(unreadable))


def _files(folder: Path) -> Iterator[Path]:
    return iter(sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file()))


def _photographs() -> list[Image.Image]:
    from sklearn.datasets import load_sample_images  # noqa: PLC0415 (slow to import)

    return [Image.fromarray(pixels) for pixels in load_sample_images().images]
