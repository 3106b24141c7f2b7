"""Registration of wavy models with timm, one for each of timm's own names."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from timm.models import model_entrypoint, register_model
from torch import nn

from wavy.hosts.timm_block import WAVE_ARGUMENTS, WavyTimmBlock
from wavy.hosts.timm_model import Classes, name_as_wavy

#: timm's ways to wrap a model for its features through which a memory passes: its default for these models.
FEATURES = ("getter", "FeatureGetterNet")


def register_wavy(
    module: str, names: Iterable[str], block_argument: str, block: type[WavyTimmBlock], classes: Classes
) -> None:
    """Register ``wavy_NAME`` for each name, with timm's own pretrained weights.

    Args:
        module: that the functions become members of.
        names: of models of timm's.
        block_argument: the argument that takes the class of the blocks.
        block: the wavy blocks.
        classes: timm's class of a model -> the wavy one.
    """
    scope = vars(sys.modules[module])
    configs = scope.setdefault("default_cfgs", {})
    for name in names:
        configs[f"wavy_{name}"] = _pretrained(name)
        create = _entrypoint(name, block_argument, block, classes)
        create.__name__, create.__module__ = f"wavy_{name}", module
        create.__doc__ = f"timm's {name} with wavy blocks."
        scope[create.__name__] = register_model(create)


def _entrypoint(name: str, block_argument: str, block: type[WavyTimmBlock], classes: Classes) -> object:
    def create(pretrained: bool = False, **kwargs: object) -> nn.Module:
        wave = {key: kwargs.pop(key) for key in WAVE_ARGUMENTS if key in kwargs}
        feature_cls = kwargs.get("feature_cls", "getter")
        if kwargs.get("features_only") and getattr(feature_cls, "__name__", feature_cls) not in FEATURES:
            # Hooks see the pair, and the other ways take the model apart.
            raise ValueError(f"wavy_{name}: found feature_cls={feature_cls!r}, allowed 'getter' (timm's default here)")
        # Stock weights lack what wavy adds; timm logs the names.
        kwargs = {block_argument: partial(block, **wave), "pretrained_strict": False} | kwargs
        built = model_entrypoint(name)(pretrained=pretrained, **kwargs)
        model = built.model if isinstance(getattr(built, "model", None), nn.Module) else built
        if type(model) not in classes:
            allowed = " or ".join(known.__name__ for known in classes)
            raise ValueError(f"wavy_{name}: found arguments that build a {type(model).__name__}, allowed {allowed}")
        model.__class__ = classes[type(model)]
        model.mark_last()
        for part in (built, model):
            name_as_wavy(part)
        return built

    return create


def _pretrained(name: str) -> object:
    """timm's table of pretrained weights for a model; those on the hub keep their places there."""
    table = sys.modules[model_entrypoint(name).__module__].default_cfgs[name]

    def kept(tag: str, config: object) -> object:
        place = f"timm/{name}.{tag}" if tag else f"timm/{name}"
        return replace(config, hf_hub_id=place) if config.hf_hub_id == "timm/" else config

    return replace(table, cfgs={tag: kept(tag, config) for tag, config in table.cfgs.items()})
