"""FFN of a state and FFN_v of its velocity with little kept for the backward pass."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import FunctionCtx

from wavy.checks import check_choice
from wavy.layers.activations import ACTIVATIONS, curvature, slope
from wavy.layers.eager import by_hand, gradients_of, needs_graph
from wavy.layers.formulas import mlp_formula
from wavy.layers.pair import check_pair

#: Weight and bias of a linear layer, (out, in) and (out,).
Affine = tuple[Tensor, Tensor | None]

#: The formula kept in the memory of h and dh: overwrites them by phi(h) and phi'(h) dh.
_OVERWRITE = {"gelu": "none", "gelu_tanh": "tanh"}


def mlp_pair(
    x: Tensor,
    velocity: Tensor,
    first: Affine,
    second: Affine,
    activation: str = "gelu",
    dropout: float = 0.0,
) -> tuple[Tensor, Tensor]:
    """FFN of a state and FFN_v of its velocity, see :class:`wavy.layers.JointMLP`.

    For the backward pass, :eq:`eq-mlp-backward`, it keeps its inputs and the hidden values before the activation, and
    computes the others again: less memory than the formula under autograd takes, and less time, too. Without autograd
    the hidden values are overwritten in place.

    Args:
        x: state, (..., d).
        velocity: same shape.
        first: weight (m, d) and bias (m,) of the first linear layer; the bias may be ``None``.
        second: those of the second, (d, m) and (d,).
        activation: one of :data:`wavy.layers.activations.ACTIVATIONS`.
        dropout: probability after the activation; 0 outside training.

    Returns:
        Both, (..., d).

    Raises:
        ValueError: shapes that differ, or an unknown activation.
    """
    check_pair(x, velocity)
    check_choice("activation", activation, ACTIVATIONS)
    inputs = x, velocity, *first, *second
    if dropout or not by_hand(*inputs):
        return mlp_formula(*inputs, activation, dropout)
    if needs_graph(*inputs):
        return _MLPPair.apply(*_as_autocast(inputs), activation)
    if activation not in _OVERWRITE:
        return mlp_formula(*inputs, activation)
    (weight1, bias1), (weight2, bias2) = first, second
    hidden, along = F.linear(x, weight1, bias1), F.linear(velocity, weight1)
    approximate = _OVERWRITE[activation]
    torch.ops.aten.gelu_backward.grad_input(along, hidden, approximate=approximate, grad_input=along)
    torch.ops.aten.gelu_(hidden, approximate=approximate)
    return F.linear(hidden, weight2, bias2), F.linear(along, weight2)


class _MLPPair(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx,
        x: Tensor,
        velocity: Tensor,
        weight1: Tensor,
        bias1: Tensor | None,
        weight2: Tensor,
        bias2: Tensor | None,
        activation: str,
    ) -> tuple[Tensor, Tensor]:
        phi, phi_prime_times = ACTIVATIONS[activation]
        hidden, along = F.linear(x, weight1, bias1), F.linear(velocity, weight1)
        ctx.save_for_backward(x, velocity, weight1, bias1, weight2, bias2, hidden, along)
        ctx.activation = activation
        return F.linear(phi(hidden), weight2, bias2), F.linear(phi_prime_times(along, hidden), weight2)

    @staticmethod
    def backward(
        ctx: FunctionCtx,
        grad: Tensor,
        grad_velocity: Tensor,
    ) -> tuple[Tensor | None, ...]:
        *inputs, hidden, along = ctx.saved_tensors
        if torch.is_grad_enabled():  # the gradient is to be differentiated again
            return gradients_of(
                lambda *tensors: mlp_formula(*tensors, ctx.activation),
                inputs,
                ctx.needs_input_grad,
                (grad, grad_velocity),
            )
        x, velocity, weight1, _, weight2, _ = inputs
        _, _, need_weight1, need_bias1, need_weight2, need_bias2, _ = ctx.needs_input_grad
        prime = slope(ctx.activation, hidden)
        grad_weight2 = None
        if need_weight2:
            phi = ACTIVATIONS[ctx.activation][0]
            grad_weight2 = _outer(grad, phi(hidden)) + _outer(grad_velocity, prime * along)
        # In place, since each pass over the hidden channels costs time.
        grad_along = grad_velocity @ weight2
        bend = curvature(ctx.activation, hidden).mul_(along).mul_(grad_along)
        grad_along.mul_(prime)
        grad_hidden = (grad @ weight2).mul_(prime).add_(bend)
        return (
            grad_hidden @ weight1,
            grad_along @ weight1,
            _outer(grad_hidden, x) + _outer(grad_along, velocity) if need_weight1 else None,
            _total(grad_hidden) if need_bias1 else None,
            grad_weight2,
            _total(grad) if need_bias2 else None,
            None,
        )


def _outer(left: Tensor, right: Tensor) -> Tensor:
    """The sum over all tokens of left right^T."""
    return left.reshape(-1, left.shape[-1]).mT @ right.reshape(-1, right.shape[-1])


def _total(x: Tensor) -> Tensor:
    return x.reshape(-1, x.shape[-1]).sum(dim=0)


def _as_autocast(tensors: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
    """The tensors in the type that autocast would give them in a matrix product."""
    device = tensors[0].device.type
    # Some devices, such as "meta", know no autocast, and may not be asked whether it is on.
    if not torch.amp.is_autocast_available(device) or not torch.is_autocast_enabled(device):
        return tensors
    dtype = torch.get_autocast_dtype(device)
    return tuple(t if t is None or t.dtype == torch.float64 else t.to(dtype) for t in tensors)
