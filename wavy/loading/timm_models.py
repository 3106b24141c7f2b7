"""Models of timm, wavy's among them: by name, or from a folder in the layout of ``timm.models.save_for_hf``."""

from __future__ import annotations

import importlib
import logging
import warnings
from pathlib import Path
from types import ModuleType

import torch
from torch import Tensor, nn

from wavy.extras import require
from wavy.hosts.conversion import HOSTS
from wavy.loading.loaded import ImageInput, LoadedModel, named, short
from wavy.loading.saved import WEIGHTS, read_weights
from wavy.loading.stages import states_of

#: The weights file that timm writes by default; torch reads it without running anything in it.
TORCH_WEIGHTS = "pytorch_model.bin"


def timm_with_wavy() -> ModuleType:
    """The module timm, with wavy's models in its registry.

    Raises:
        ValueError: timm is not installed.
    """
    timm = require("timm", "hosts")
    for host in HOSTS["timm"]:
        importlib.import_module(host)
    return timm


def load_by_name(name: str, random: bool, options: dict[str, object]) -> LoadedModel:
    """A registered model with its pretrained weights, or random ones; these may have to be fetched.

    Raises:
        ValueError: no pretrained weights, or options that the model does not take.
    """
    model = _create(name, {}, options, pretrained=not random)
    return _loaded(name, model, "pretrained weights", options)


def load_from_folder(name: str, folder: Path, config: dict, random: bool, options: dict[str, object]) -> LoadedModel:
    """The model of a folder, or one of random weights built like it.

    Raises:
        ValueError: an unknown architecture, or weights that do not fit it.
    """
    for key in ("model_args", "pretrained_cfg"):
        if not isinstance(config.get(key) or {}, dict):
            raise ValueError(f"{folder}: found {config[key]!r} as {key} in config.json, allowed a JSON object")
    timm, architecture = timm_with_wavy(), str(config["architecture"])
    arguments = {"num_classes": config.get("num_classes"), **(config.get("model_args") or {})}
    if not timm.is_model(architecture):
        raise ValueError(f"{folder}: timm {timm.__version__} has no architecture {architecture!r}")
    cfg = {**(config.get("pretrained_cfg") or {}), "architecture": architecture}
    model = _create(architecture, arguments, options, pretrained=False, pretrained_cfg=cfg)
    if not random:
        try:
            model.load_state_dict(_read_weights(folder))
        except RuntimeError as error:
            raise ValueError(f"{folder}: {short(error)}") from None
    return _loaded(name, model, "saved weights", options)


def _create(name: str, arguments: dict[str, object], options: dict[str, object], **kwargs: object) -> nn.Module:
    """A model of timm's; ``options`` are those that the caller asked for, which an error names."""
    logger = logging.getLogger("timm")
    level = logger.level
    logger.setLevel(logging.CRITICAL)  # what goes wrong is told once, by the error
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Initializing zero-element tensors")
            return timm_with_wavy().create_model(name, **kwargs, **{**arguments, **options})
    except Exception as error:  # whatever a model of timm's says about an argument
        if kwargs["pretrained"] and isinstance(error, (OSError, RuntimeError)):
            raise ValueError(
                f"{name}: pretrained weights cannot be had or do not fit ({short(error)}); --random takes random ones"
            ) from None
        given = ", ".join(f"{key}={value}" for key, value in (options or arguments).items())
        fault = f"{type(error).__name__}: {short(error)}"
        raise ValueError(f"{name}: cannot be built with {given or 'its defaults'} ({fault})") from None
    finally:
        logger.setLevel(level)


def _read_weights(folder: Path) -> dict[str, Tensor]:
    if (folder / WEIGHTS).exists() or not (folder / TORCH_WEIGHTS).exists():
        return read_weights(folder / WEIGHTS)
    try:
        return torch.load(folder / TORCH_WEIGHTS, map_location="cpu", weights_only=True)
    except Exception as error:  # a file from elsewhere may break in many ways
        raise ValueError(f"{folder / TORCH_WEIGHTS}: cannot be read as weights ({short(error)})") from None


def _loaded(name: str, model: nn.Module, weights: str, options: dict[str, object]) -> LoadedModel:
    data = importlib.import_module("timm.data")
    try:
        config = data.resolve_model_data_config(model)
        size = getattr(getattr(model, "patch_embed", None), "img_size", None) or config["input_size"][1:]
        transform = data.create_transform(**{**config, "input_size": (3, *size)})
    except Exception as error:  # whatever the pretrained_cfg of a folder holds
        raise ValueError(f"{name}: its pretrained_cfg does not say how to prepare images ({short(error)})") from None
    try:
        model, blocks = states_of(model, size)
    except Exception as error:  # whatever a model of timm's says about an image
        fault = f"does not run on images (3, {size[0]}, {size[1]}) ({short(error)})"
        raise ValueError(f"{named(name, options)}: {fault}") from error
    takes = ImageInput(lambda images: torch.stack([transform(image) for image in images]))
    return LoadedModel(name, model, weights, takes, blocks)
