"""Models of transformers, wavy's among them, from a folder in the layout of ``save_pretrained``."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn

from wavy.extras import require
from wavy.hosts.conversion import HOSTS
from wavy.loading.loaded import ImageInput, LoadedModel, TextInput, named, short
from wavy.loading.processors import prepare_images, tokenizer_of


def load_from_folder(name: str, folder: Path, random: bool, options: dict[str, object]) -> LoadedModel:
    """The model of a folder, or one of random weights built like it; of an encoder-decoder, the encoder.

    Args:
        name: as it was asked for.
        folder: with config.json, weights, and the tokenizer or image processor if there is one.
        random: take random weights.
        options: entries of config.json to change.

    Raises:
        ValueError: what transformers cannot load (code that comes with a model is never run), an option that is not in
            config.json, weights missing in the layers, or a model that takes neither text nor images.
    """
    with _transformers(name) as transformers:
        config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    if unknown := [key for key in options if not hasattr(config, key)]:
        raise ValueError(f"{name}: found no {', '.join(unknown)} in its config.json, allowed what stands there")
    with _transformers(named(name, options)) as transformers:
        for key, value in options.items():
            setattr(config, key, value)
        model, missing = _build(transformers, folder, config, random)
        if config.is_encoder_decoder:
            model = model.get_encoder()
        takes = _input_of(transformers, model, folder)
    if takes is None:
        raise ValueError(f"{name}: the model takes {model.main_input_name}, allowed input_ids or pixel_values")
    blocks = layers_of(name, model)
    _check_layers(name, model, blocks or [], missing)
    return LoadedModel(name, model, _weights(missing), takes, blocks)


@contextmanager
def _transformers(name: str) -> Iterator[Any]:
    """The library without its messages and progress bars; whatever it raises is one line."""
    transformers = require("transformers", "hosts")
    for host in HOSTS.get("transformers", ()):
        importlib.import_module(host)
    logging = transformers.utils.logging
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield transformers
    except Exception as error:
        raise ValueError(f"{name}: transformers cannot load it ({short(error)})") from error
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def _build(transformers: Any, folder: Path, config: Any, random: bool) -> tuple[nn.Module, set[str]]:
    """The model in single precision, and the names of the parameters that the folder lacks."""
    if random:
        return transformers.AutoModel.from_config(config, trust_remote_code=False).float(), set()
    model, info = transformers.AutoModel.from_pretrained(
        folder,
        config=config,
        dtype=torch.float32,
        local_files_only=True,
        trust_remote_code=False,
        output_loading_info=True,
    )
    return model, set(info["missing_keys"])


def layers_of(name: str, model: nn.Module) -> list[nn.Module] | None:
    """The outermost list with as many members as the model has layers, or ``None``.

    Raises:
        ValueError: several such lists side by side: no module's output is the state after a layer.
    """
    count = getattr(model.config, "num_hidden_layers", None)
    lists = {key: m for key, m in model.named_modules() if isinstance(m, nn.ModuleList) and len(m) == count}
    first = next(iter(lists), None)
    if beside := [key for key in lists if key != first and _parent(key) == _parent(first)]:
        raise ValueError(f"{name}: the layers are spread over {first}, {', '.join(beside)}, allowed one list of layers")
    return None if first is None else list(lists[first])


def _parent(key: str) -> str:
    return key.rpartition(".")[0]


def _check_layers(name: str, model: nn.Module, blocks: list[nn.Module], missing: set[str]) -> None:
    """Refuse layers of random weights that pass for saved ones; theta is new in a stock model's weights."""
    prefixes = tuple(f"{key}." for key, module in model.named_modules() if any(module is block for block in blocks))
    lacking = sorted(key for key in missing if key.startswith(prefixes) and not key.endswith(".theta"))
    if lacking:
        raise ValueError(f"{name}: {len(lacking)} weights of the layers are missing, {lacking[0]} the first of them")


def _weights(missing: set[str]) -> str:
    fresh = sorted(key for key in missing if not key.startswith("pooler."))  # it reads the last state, and gives none
    if not fresh:
        return "saved weights"
    more = f" and {len(fresh) - 3} more" if len(fresh) > 3 else ""
    return f"saved weights, freshly drawn: {', '.join(fresh[:3])}{more}"


def _input_of(transformers: Any, model: nn.Module, folder: Path) -> ImageInput | TextInput | None:
    config = model.config
    if model.main_input_name == "pixel_values":
        return ImageInput(prepare_images(transformers, config, folder))
    if model.main_input_name != "input_ids":
        return None
    text, tokenizer = config.get_text_config(), tokenizer_of(transformers, folder)
    limits = [getattr(text, "max_position_embeddings", None), getattr(tokenizer, "model_max_length", None)]
    longest = min((limit for limit in limits if limit and limit > 0), default=None)  # XLNet says -1 for no limit
    return TextInput(text.vocab_size, longest, text.pad_token_id, tokenizer)
