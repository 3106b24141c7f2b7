"""Activations phi with what FFN_v and its backward pass need of their derivatives."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from wavy.layers.precision import at_least_single

#: phi, and the product phi'(h) dh as one kernel of torch's where it has one that can be differentiated again.
ACTIVATIONS = {
    "gelu": (F.gelu, torch.ops.aten.gelu_backward),
    "gelu_tanh": (
        lambda h: F.gelu(h, approximate="tanh"),
        lambda dh, h: torch.ops.aten.gelu_backward(dh, h, approximate="tanh"),
    ),
    "relu": (F.relu, lambda dh, h: torch.where(h > 0, dh, torch.zeros_like(dh))),
    "silu": (F.silu, lambda dh, h: dh * torch.sigmoid(h) * (1 + h * torch.sigmoid(-h))),
}


def slope(activation: str, h: Tensor) -> Tensor:
    """phi'(h), the shape of h."""
    return ACTIVATIONS[activation][1](h.new_ones(()).expand_as(h), h)


def curvature(activation: str, h: Tensor) -> Tensor:
    """phi''(h), the shape of h; it is not tracked by autograd."""
    # Squares overflow in half precision, so it is taken in single.
    precise = h.to(at_least_single(h))
    with torch.no_grad():
        return _CURVATURES[activation](precise).to(h.dtype)


def _gelu_curvature(h: Tensor) -> Tensor:
    # In place, since each pass over a tensor of this size costs time: (2 - h^2) exp(-h^2 / 2) / sqrt(2 pi)
    square = h * h
    bell = (square * -0.5).exp_()
    return square.sub_(2).mul_(bell).mul_(-1 / math.sqrt(2 * math.pi))


def _gelu_tanh_curvature(h: Tensor) -> Tensor:
    # phi(h) = h (1 + tanh(p)) / 2 with a cubic polynomial p; dp is its derivative.
    factor, cubic = math.sqrt(2 / math.pi), 0.044715
    h = h.clamp(-100, 100)  # phi'' is zero beyond, and the fifth power of h stays finite
    square = h * h
    t = torch.tanh(factor * h * (1 + cubic * square))
    dp = factor * (1 + 3 * cubic * square)
    return (1 - t * t) * (dp + 3 * factor * cubic * square - h * t * dp * dp)


def _silu_curvature(h: Tensor) -> Tensor:
    s = torch.sigmoid(h)
    return s * (1 - s) * (2 + h * (1 - 2 * s))


_CURVATURES = {
    "gelu": _gelu_curvature,
    "gelu_tanh": _gelu_tanh_curvature,
    "relu": torch.zeros_like,
    "silu": _silu_curvature,
}
