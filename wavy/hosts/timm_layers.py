"""timm's LayerNorm, mlp and drop path for a state and its velocity; the modules stay timm's own."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from wavy.layers import ACTIVATIONS, Pair, shared_dropout, velocity_norm


def norm_pair(norm: nn.LayerNorm, x: Tensor, velocity: Tensor) -> Pair:
    """LN of the state by the host's own module, LN_v of the velocity.

    Args:
        norm: any ``nn.LayerNorm``.
        x: state, (..., d).
        velocity: same shape.

    Returns:
        Both, (..., d).
    """
    weight = 1.0 if norm.weight is None else norm.weight
    return norm(x), velocity_norm(x, velocity, weight, norm.eps).to(velocity.dtype)


def mlp_pair(mlp: nn.Module, x: Tensor, velocity: Tensor) -> Pair:
    """timm's ``Mlp`` of the state and FFN_v of the velocity, with shared dropout masks.

    Args:
        mlp: with fc1, act, drop1, norm (Identity), fc2, drop2.
        x: state, (..., d).
        velocity: same shape.

    Returns:
        Both, (..., d).

    Raises:
        ValueError: an activation or a norm within the mlp that has no FFN_v here.
    """
    phi, phi_prime_times = _activation(mlp.act)
    if not isinstance(mlp.norm, nn.Identity):
        raise ValueError(f"mlp: found {type(mlp.norm).__name__} between its layers, allowed none")
    hidden = mlp.fc1(x)
    along = phi_prime_times(F.linear(velocity, mlp.fc1.weight), hidden)
    hidden, along = shared_dropout(phi(hidden), along, mlp.drop1.p, mlp.drop1.training)
    return shared_dropout(mlp.fc2(hidden), F.linear(along, mlp.fc2.weight), mlp.drop2.p, mlp.drop2.training)


def path_mask(drop_path: nn.Module, x: Tensor) -> Tensor | float:
    """The mask of timm's drop path, (B, 1, ..., 1), to be shared by a state and its velocity; 1 where none is drawn."""
    if isinstance(drop_path, nn.Identity) or not drop_path.training:
        return 1.0
    return drop_path(x.new_ones(x.shape[0], *(1,) * (x.dim() - 1)))


def _activation(act: nn.Module) -> tuple:
    names = {nn.ReLU: "relu", nn.SiLU: "silu"}
    if isinstance(act, nn.GELU):
        return ACTIVATIONS["gelu" if act.approximate == "none" else "gelu_tanh"]
    for kind, name in names.items():
        if isinstance(act, kind):
            return ACTIVATIONS[name]
    raise ValueError(f"act: found {type(act).__name__}, allowed GELU, ReLU, SiLU")
