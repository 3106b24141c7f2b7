"""The published models with their exact semantics: build one from its own state dict and hyper-parameters."""

from __future__ import annotations

import os
from collections.abc import Mapping
from inspect import signature

import torch
from torch import Tensor, nn

from wavy.checks import check_choice
from wavy.official import difformer

#: Family name -> function that builds the empty model from the published hyper-parameter names.
FAMILIES = {"difformer": difformer.build}


def load(
    state_dict: Mapping[str, Tensor] | str | os.PathLike[str], family: str, source: str | None = None, **hparams: object
) -> nn.Module:
    """Build a published model and load its weights.

    Args:
        state_dict: a mapping of names to tensors, or the path of a checkpoint (read with ``weights_only=True``).
        family: one of :data:`FAMILIES`.
        source: where the weights come from, for the reader; kept as ``model.source``.
        **hparams: the model's hyper-parameters under their published names, see the family's ``build``.

    Returns:
        The model in eval mode, in the floating type of the weights.

    Raises:
        ValueError: an unknown family or hyper-parameter, or a state dict that does not fit: one error lists the
            missing, the unexpected and the misshaped names.
    """
    check_choice("family", family, FAMILIES)
    if not isinstance(state_dict, Mapping):
        state_dict = torch.load(state_dict, map_location="cpu", weights_only=True)
    build = FAMILIES[family]
    unknown = [name for name in hparams if name not in signature(build).parameters]
    if unknown:
        raise ValueError(f"hparams: found {', '.join(unknown)}, allowed {', '.join(signature(build).parameters)}")
    model = build(**hparams)
    _check_fit(model.state_dict(), state_dict)
    model.to(next(iter(state_dict.values())).dtype).load_state_dict(state_dict)
    model.source = source
    return model.eval()


def _check_fit(expected: Mapping[str, Tensor], found: Mapping[str, Tensor]) -> None:
    misshaped = [
        f"{name} {tuple(found[name].shape)} for {tuple(expected[name].shape)}"
        for name in expected
        if name in found and found[name].shape != expected[name].shape
    ]
    faults = {
        "missing": [name for name in expected if name not in found],
        "unexpected": [name for name in found if name not in expected],
        "misshaped": misshaped,
    }
    if any(faults.values()):
        text = "; ".join(f"{fault}: {', '.join(names)}" for fault, names in faults.items() if names)
        raise ValueError(f"state_dict: does not fit the model; {text}")
