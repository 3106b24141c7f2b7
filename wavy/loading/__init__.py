"""Any model by name or path: timm's, transformers', and those that wavy saved."""

from __future__ import annotations

import difflib
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import torch

from wavy.loading import saved, timm_models, transformers_models
from wavy.loading.loaded import LoadedModel, named
from wavy.loading.saved import load, save

__all__ = ["LoadedModel", "load", "load_any", "save"]


def load_any(
    name_or_path: str | Path, options: dict[str, object] | None = None, random: bool = False, seed: int = 0
) -> LoadedModel:
    """Load a model of any supported library, with what is needed to feed it.

    A folder is what :func:`save`, ``save_pretrained`` of transformers or ``timm.models.save_for_hf`` wrote. What is no
    folder is a name: of a model that timm knows (those of wavy among them), or of a model in the local cache of the
    Hugging Face hub. Nothing is fetched but the pretrained weights of a timm model that was named.

    Args:
        name_or_path: see above.
        options: arguments of the model, for instance ``{"residual": "light"}``.
        random: random weights in place of the pretrained or saved ones.
        seed: of everything that is drawn.

    Raises:
        ValueError: no such model, or one that cannot be built or loaded; always one line.
    """
    options = options or {}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        loaded = _find(str(name_or_path), random, options)
    return replace(
        loaded,
        name=named(loaded.name, options),
        weights=f"random weights, seed {seed}" if random else loaded.weights,
    )


def _find(name: str, random: bool, options: dict[str, object]) -> LoadedModel:
    path = Path(name)
    if path.is_dir():
        return _from_folder(name, path, random, options)
    if path.exists():
        raise ValueError(
            f"{name}: found a file, allowed a folder with config.json; the weights of a published model, which do not "
            "say how it is built, are read by wavy.official.load"
        )
    if find_spec("timm") and timm_models.timm_with_wavy().is_model(name):
        return timm_models.load_by_name(name, random, options)
    if cached := _cached(name):
        return _from_folder(name, cached, random, options)
    raise ValueError(_not_found(name))


def _from_folder(name: str, folder: Path, random: bool, options: dict[str, object]) -> LoadedModel:
    config = saved.read_config(folder)
    if saved.CLASS_KEY in config:
        return saved.load_saved(name, folder, config, random, options)
    if "model_type" in config:
        return transformers_models.load_from_folder(name, folder, random, options)
    if "architecture" in config:
        return timm_models.load_from_folder(name, folder, config, random, options)
    raise ValueError(
        f"{folder}: found no {saved.CLASS_KEY}, model_type or architecture in config.json, allowed a folder that "
        "wavy.loading.save, save_pretrained of transformers or timm.models.save_for_hf wrote"
    )


def _cached(name: str) -> Path | None:
    """The folder of a model in the local cache of the hub; the network is not asked."""
    if not find_spec("huggingface_hub"):
        return None
    import huggingface_hub  # noqa: PLC0415 (of the extra ``hosts``)

    try:
        return Path(huggingface_hub.snapshot_download(name, local_files_only=True))
    except (OSError, ValueError):  # not there, or no name that the hub could have
        return None


def _not_found(name: str) -> str:
    if not find_spec("timm"):
        timm_knows = 'timm is not installed (pip install "wavy[hosts]")'
    else:
        near = difflib.get_close_matches(name, timm_models.timm_with_wavy().list_models(), n=3)
        timm_knows = f"timm knows no such model{' but ' + ', '.join(near) if near else ''}"
    return (
        f"{name}: found no model; it is no folder, {timm_knows}, and the local cache of the Hugging Face hub does not "
        "hold it (hf download fetches a model there)"
    )
