"""A host's own LayerNorm and mlp for a state and its velocity: the modules and their weights stay the host's."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wavy import layers
from wavy.layers import ACTIVATIONS, Pair, shared_dropout, velocity_norm

#: Class of an affine map, exactly -> its matrix, (out, in). A host may add classes of its library.
MATRICES: dict[type[nn.Module], Callable[[nn.Module], Tensor]] = {nn.Linear: lambda linear: linear.weight}

#: Activations, as functions or classes, exactly -> their names in :data:`wavy.layers.activations.ACTIVATIONS`. A host
#: may add its library's.
ACTIVATION_NAMES = {
    F.relu: "relu",
    torch.relu: "relu",
    nn.ReLU: "relu",
    F.gelu: "gelu",
    nn.GELU: "gelu",
    F.silu: "silu",
    nn.SiLU: "silu",
}


def activation_name(activation: nn.Module | Callable[[Tensor], Tensor]) -> str:
    """The name in :data:`wavy.layers.activations.ACTIVATIONS` of an activation, given as a module or a function.

    Raises:
        ValueError: one through which a velocity cannot pass.
    """
    name = ACTIVATION_NAMES.get(type(activation) if isinstance(activation, nn.Module) else activation)
    if isinstance(activation, nn.Module) and "forward" in vars(activation):
        name = None
    if name == "gelu" and getattr(activation, "approximate", "none") == "tanh":
        return "gelu_tanh"
    if name is None:
        found = getattr(activation, "__name__", type(activation).__name__)
        raise ValueError(f"activation: found {found}, allowed relu, gelu or silu where a velocity passes")
    return name


def norm_pair(norm: nn.LayerNorm, x: Tensor, velocity: Tensor) -> Pair:
    """LN of the state and LN_v of the velocity, as :class:`wavy.layers.JointLayerNorm`.

    Args:
        norm: any ``nn.LayerNorm``.
        x: state, (..., d).
        velocity: same shape.

    Returns:
        Both, (..., d).
    """
    # timm's own LayerNorm has another kernel for half precision.
    if has_hooks(norm) or getattr(norm, "_fast_norm", False):
        normed = norm(x)  # first, since a hook, such as that of pruning, may set the weight
        weight = 1.0 if norm.weight is None else norm.weight
        return normed, velocity_norm(x, velocity, weight, norm.eps).to(velocity.dtype)
    return layers.norm_pair(x, velocity, norm.weight, norm.bias, norm.eps)


def mlp_pair(
    x: Tensor,
    velocity: Tensor,
    first: nn.Module,
    activation: str,
    second: nn.Module,
    dropout: nn.Dropout | None = None,
) -> Pair:
    """FFN of a state and FFN_v of its velocity, as :class:`wavy.layers.JointMLP`.

    Args:
        x: state, (..., d).
        velocity: same shape.
        first: affine map from d to the hidden channels. Adapters and other modules that stand for one are called.
        activation: name of phi in :data:`wavy.layers.activations.ACTIVATIONS`.
        second: affine map back to d.
        dropout: after the activation, with one mask for both.

    Returns:
        Both, (..., d).
    """
    p = dropout.p if dropout is not None and dropout.training else 0.0
    if all(type(affine) in MATRICES and not has_hooks(affine) for affine in (first, second)):
        return layers.mlp_pair(x, velocity, _affine(first), _affine(second), activation, p)
    phi, phi_prime_times = ACTIVATIONS[activation]
    hidden = first(x)
    along = phi_prime_times(_linear_part(first, velocity), hidden)
    hidden, along = shared_dropout(phi(hidden), along, p, training=True)
    return second(hidden), _linear_part(second, along)


def _affine(module: nn.Module) -> tuple[Tensor, Tensor | None]:
    return MATRICES[type(module)](module), module.bias


def _linear_part(module: nn.Module, along: Tensor) -> Tensor:
    """The product with an affine map's matrix, without its bias."""
    if type(module) in MATRICES and "forward" not in vars(module):
        return F.linear(along, MATRICES[type(module)](module))
    # Adapters and the like have no single matrix; an affine map less its value at zero is linear. Both calls, and
    # that of the state before them, draw their dropout masks anew: a module with dropout of its own shares none.
    return module(along) - module(torch.zeros_like(along))


def has_hooks(module: nn.Module) -> bool:
    """Whether hooks, or a forward set on the module itself, see or change what it is called with or gives."""
    if "forward" in vars(module):
        return True
    hooks = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")
    return any(getattr(module, name) for name in hooks)
