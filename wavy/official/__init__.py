"""The published models with their exact semantics: build one from its own state dict and hyper-parameters."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from functools import reduce
from inspect import signature

import torch
from torch import Tensor, nn

from wavy.checks import check_choice
from wavy.official import bert, difformer, vit
from wavy.official.checkpoint import read_state_dict
from wavy.official.scale import AttnScaleAttention, FeatScaleBlock

#: Family name -> what builds the empty model from the published hyper-parameter names.
FAMILIES = {
    "bert": bert.build,
    "vit": vit.build,
    "difformer": difformer.build,
    "featscale": FeatScaleBlock,
    "attnscale": AttnScaleAttention,
}

#: What may be missing from a state dict of a family (published BERT checkpoints hold the encoder only).
HEADS = {"bert": ("classifier.", "bert.pooler."), "vit": ("head.",)}


def load(
    state_dict: Mapping[str, Tensor] | str | os.PathLike[str], family: str, source: str | None = None, **hparams: object
) -> nn.Module:
    """Build a published model and load its weights.

    Args:
        state_dict: a mapping of names to tensors or numpy arrays, or the path of a checkpoint (read with
            ``weights_only=True``); it may lie under the key ``model``, and a BERT encoder may lack the prefix
            ``bert.``.
        family: one of :data:`FAMILIES`.
        source: where the weights come from, for the reader; kept as ``model.source``.
        **hparams: the model's hyper-parameters under their published names, see the family's ``build``.

    Returns:
        The model in eval mode, in the floating type that holds all weights. ``model.fresh`` names the parameters of a
        head that the state dict does not have; they are freshly drawn, and a warning says so.

    Raises:
        ValueError: an unknown family or hyper-parameter, a file that is no checkpoint, what is no state dict, or one
            that does not fit: one error lists the missing, the unexpected and the misshaped names.
    """
    check_choice("family", family, FAMILIES)
    model = _build(family, hparams)
    weights = _plain(read_state_dict(state_dict), family)
    expected = model.state_dict()
    fresh = _missing_heads(expected, weights, HEADS.get(family, ()))
    _check_fit({name: value for name, value in expected.items() if name not in fresh}, weights)
    dtypes = [value.dtype for value in weights.values() if value.is_floating_point()]
    model.to(reduce(torch.promote_types, dtypes or [torch.float32])).load_state_dict(weights, strict=False)
    if fresh:
        warnings.warn(f"not in the state dict, freshly drawn: {', '.join(fresh)}", stacklevel=2)
    model.source, model.fresh = source, fresh
    return model.eval()


def _build(family: str, hparams: dict[str, object]) -> nn.Module:
    build = FAMILIES[family]
    known = signature(build).parameters
    if unknown := [name for name in hparams if name not in known]:
        raise ValueError(f"hparams: found {', '.join(unknown)}, allowed {', '.join(known)}")
    if missing := [name for name, p in known.items() if p.default is p.empty and name not in hparams]:
        raise ValueError(f"hparams: found no {', '.join(missing)}, which {family} needs")
    return build(**hparams)


def _plain(found: dict[str, Tensor], family: str) -> dict[str, Tensor]:
    """The weights under the names of the whole model."""
    if family != "bert":
        return found
    # Position ids are counted, not learned; some releases of transformers saved them.
    weights = {name: value for name, value in found.items() if not name.endswith("position_ids")}
    encoder = ("embeddings.", "encoder.", "pooler.")
    return {f"bert.{name}" if name.startswith(encoder) else name: value for name, value in weights.items()}


def _missing_heads(expected: Mapping[str, Tensor], found: Mapping[str, Tensor], heads: tuple[str, ...]) -> list[str]:
    """The parameters of the heads that are missing as a whole; a head missing in part is a fault."""
    absent = tuple(head for head in heads if not any(name.startswith(head) for name in found))
    return [name for name in expected if absent and name.startswith(absent)]


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
