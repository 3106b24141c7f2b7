"""wavy's own models in a folder: ``config.json`` says how to build one, ``model.safetensors`` holds its weights."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from wavy.checks import check_choice
from wavy.hosts.conversion import wavify
from wavy.loading.arguments import ARGUMENTS, residual_arguments
from wavy.loading.loaded import GraphInput, LoadedModel, PatchInput, short

CONFIG, WEIGHTS = "config.json", "model.safetensors"

#: The key of config.json that tells such a folder from those of other libraries.
CLASS_KEY = "wavy_class"

#: Class of a model that can be saved -> its module, which is imported only where the class is needed.
MODULES = {"DIFFormer": "wavy.hosts.difformer", "Transformer": "wavy.hosts.transformer"}


def save(model: nn.Module, folder: str | Path) -> None:
    """Write a model of wavy's own into a folder, for :func:`load`.

    Args:
        model: a :class:`wavy.hosts.difformer.DIFFormer` or a :class:`wavy.hosts.transformer.Transformer`.
        folder: made where it is not there; a model in it is overwritten.

    Raises:
        TypeError: another class of model; the line says how those are saved.
        ValueError: layers that differ in their options, or a folder that cannot be written.
    """
    name = type(model).__name__
    if type(model).__module__ != MODULES.get(name):
        raise TypeError(
            f"model: found {name}, allowed {', '.join(MODULES)}; a timm model is saved by timm.models.save_for_hf, "
            "one of transformers by its save_pretrained"
        )
    config = {CLASS_KEY: name, "arguments": ARGUMENTS[name](model), "residual": residual_arguments(model)}
    if differing := _differing(model, _build(config, {})):
        raise ValueError(
            f"model: found a {name} whose layers differ in their options, {differing} for one, allowed layers of one "
            "kind with options that the class has an argument for"
        )
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        save_file({key: value.contiguous() for key, value in model.state_dict().items()}, folder / WEIGHTS)
        (folder / CONFIG).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    except (OSError, SafetensorError) as error:
        raise ValueError(f"folder: found {folder}, allowed a folder that can be written ({short(error)})") from None


def _differing(model: nn.Module, built: nn.Module) -> str | None:
    """The first module that is not as its arguments build it, by class, description and public attributes."""
    found, expected = _options(model), _options(built)
    return next((key for key in {**found, **expected} if found.get(key) != expected.get(key)), None)


def _options(model: nn.Module) -> dict[str, tuple[object, ...]]:
    return {
        key: (
            type(module),
            module.extra_repr(),
            {name: value for name, value in vars(module).items() if not name.startswith("_") and name != "training"},
        )
        for key, module in model.named_modules()
    }


def load(folder: str | Path, **options: object) -> nn.Module:
    """Build the model that :func:`save` wrote, in eval mode and in the type of its weights. Nothing is unpickled.

    Args:
        folder: with config.json and model.safetensors.
        **options: arguments of the class or of its residual to change, for instance ``tau``.

    Raises:
        ValueError: not such a folder, an option out of its range, or weights that do not fit.
    """
    folder = Path(folder)
    model, weights = _build(read_config(folder), options), read_weights(folder / WEIGHTS)
    dtypes = {value.dtype for value in weights.values() if value.is_floating_point()}
    model.to(dtypes.pop() if len(dtypes) == 1 else torch.float32)
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        raise ValueError(f"{folder}: {short(error)}") from None
    return model.eval()


def load_saved(name: str, folder: Path, config: dict, random: bool, options: dict[str, object]) -> LoadedModel:
    """The model of such a folder, or one of random weights built like it, with the input that it takes."""
    model = _build(config, options) if random else load(folder, **options)
    if config[CLASS_KEY] == "DIFFormer":
        takes = GraphInput(model.fcs[0].in_features)
    else:
        takes = PatchInput(model.position.shape[0], model.embed.in_features)
    return LoadedModel(name, model, "saved weights", takes)


def read_config(folder: Path) -> dict:
    """What the config.json of a folder holds.

    Raises:
        ValueError: it is not there, or is no JSON object.
    """
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{folder}: {CONFIG} cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise ValueError(f"{folder}: {CONFIG} is not JSON ({short(error)})") from None
    if not isinstance(config, dict):
        raise ValueError(f"{folder}: found {type(config).__name__} in {CONFIG}, allowed a JSON object")
    return config


def read_weights(path: Path) -> dict[str, torch.Tensor]:
    """The tensors of a safetensors file by name.

    Raises:
        ValueError: it is not there, or is none.
    """
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise ValueError(f"{path}: cannot be read as weights ({short(error)})") from None


def _build(config: dict, options: dict[str, object]) -> nn.Module:
    name = config.get(CLASS_KEY)
    check_choice(CLASS_KEY, name, MODULES)
    try:
        arguments, residual = dict(config["arguments"]), dict(config["residual"])
    except (KeyError, TypeError, ValueError):
        raise ValueError(
            f"{CONFIG}: found no arguments or no residual, allowed what wavy.loading.save writes"
        ) from None
    for key, value in options.items():
        check_choice(f"option of {name}", key, [*arguments, *residual])
        (arguments if key in arguments else residual)[key] = value
    try:
        return wavify(getattr(importlib.import_module(MODULES[name]), name)(**arguments), **residual)
    except TypeError as error:  # a name that the class does not know, or a value of another type
        raise ValueError(f"{name}: {short(error)}") from None
