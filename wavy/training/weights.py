"""Weights of trained models in the cache, for what starts from them."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from pydantic import BaseModel
from torch import nn

from wavy.data.cache import cache_folder
from wavy.results import run_hash


def weights_file(run: BaseModel) -> Path:
    """Where the weights of a run's model are kept. A change of the code does not change the name."""
    return cache_folder() / "models" / run.experiment / f"{run_hash(run)}.safetensors"


def save_weights(model: nn.Module, run: BaseModel) -> None:
    """Keep the weights of a run's model; other processes see the file whole or not at all."""
    from safetensors.torch import save_model  # noqa: PLC0415 (an extra)

    file = weights_file(run)
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=file.parent, prefix=".partial-") as folder:
        part = Path(folder) / file.name
        save_model(model, str(part))
        os.replace(part, file)


def load_weights(model: nn.Module, run: BaseModel) -> bool:
    """Give a model the weights that are kept for a run; whether there are any."""
    from safetensors.torch import load_model  # noqa: PLC0415 (an extra)

    file = weights_file(run)
    if not file.exists():
        return False
    load_model(model, str(file))
    return True
