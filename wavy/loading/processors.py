"""What stands between raw data and a model of transformers: its tokenizer or its image processor."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from PIL.Image import Image

#: Without one of these files transformers makes up a tokenizer of no words.
TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "tokenizer.model",
    "spiece.model",
    "vocab.txt",
    "vocab.json",
)
PROCESSOR_FILES = ("preprocessor_config.json", "processor_config.json")


def tokenizer_of(transformers: Any, folder: Path) -> Any | None:
    """The tokenizer of a folder, or ``None`` where there is none."""
    if not any((folder / name).exists() for name in TOKENIZER_FILES):
        return None
    return transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)


def prepare_images(transformers: Any, config: Any, folder: Path) -> Callable[[list[Image]], Tensor]:
    """The image processor of a folder, or else the usual one: the middle square in the model's size, in [-1, 1]."""
    if any((folder / name).exists() for name in PROCESSOR_FILES):
        options = {"local_files_only": True, "trust_remote_code": False}
        processor = transformers.AutoImageProcessor.from_pretrained(folder, **options)
        return lambda images: processor(images=images, return_tensors="pt")["pixel_values"]
    from torchvision.transforms import v2  # noqa: PLC0415 (of the extra ``hosts``)

    size = getattr(config, "image_size", 224)
    transform = v2.Compose(
        [
            v2.Resize(size if isinstance(size, int) else min(size)),
            v2.CenterCrop(size),
            v2.PILToTensor(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize([0.5] * 3, [0.5] * 3),
        ]
    )
    return lambda images: torch.stack([transform(image) for image in images])
