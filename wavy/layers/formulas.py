"""LN with LN_v and FFN with FFN_v as formulas on tensors: what the modules compute, however they compute it."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from wavy.layers.activations import ACTIVATIONS
from wavy.layers.dropout import shared_dropout
from wavy.layers.precision import at_least_single


def velocity_norm(
    x: Tensor,
    velocity: Tensor,
    weight: Tensor | float,
    eps: float,
    exact: bool = False,
) -> Tensor:
    """LN_v of a velocity, or the derivative of LN along it, at least in float32.

    Args:
        x: state, (..., d).
        velocity: its velocity, same shape.
        weight: gamma, (d,), or 1.
        eps: added to the variance.
        exact: see :class:`wavy.layers.JointLayerNorm`.

    Returns:
        (..., d).
    """
    # Squares overflow in half precision, so its statistics are taken in single.
    precise = at_least_single(x)
    x, velocity = x.to(precise), velocity.to(precise)
    # torch.var_mean takes several times longer on CPU, and no gradient flows back
    # through the statistics that torch.native_layer_norm returns.
    centred = x - x.mean(dim=-1, keepdim=True)
    scale = torch.rsqrt(centred.square().mean(dim=-1, keepdim=True) + eps)
    if exact:
        x_hat = centred * scale
        along = (x_hat * velocity).mean(dim=-1, keepdim=True)
        velocity = velocity - velocity.mean(dim=-1, keepdim=True) - x_hat * along
    return weight * (scale * velocity)


def norm_formula(
    x: Tensor,
    velocity: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
    exact: bool = False,
) -> tuple[Tensor, Tensor]:
    """LN of a state and LN_v of its velocity, each (..., d).

    The arguments are those of :func:`wavy.layers.norm_pair`, which computes the same.
    """
    normed = F.layer_norm(x, x.shape[-1:], weight, bias, eps)
    weight = 1.0 if weight is None else weight
    return normed, velocity_norm(x, velocity, weight, eps, exact).to(normed.dtype)


def mlp_formula(
    x: Tensor,
    velocity: Tensor,
    weight1: Tensor,
    bias1: Tensor | None,
    weight2: Tensor,
    bias2: Tensor | None,
    activation: str,
    dropout: float = 0.0,
) -> tuple[Tensor, Tensor]:
    """FFN of a state and FFN_v of its velocity, each (..., d).

    The arguments are those of :func:`wavy.layers.mlp_pair`, which computes the same.
    """
    phi, phi_prime_times = ACTIVATIONS[activation]
    hidden = F.linear(x, weight1, bias1)
    along = phi_prime_times(F.linear(velocity, weight1), hidden)
    hidden, along = shared_dropout(phi(hidden), along, dropout, training=True)
    return F.linear(hidden, weight2, bias2), F.linear(along, weight2)
