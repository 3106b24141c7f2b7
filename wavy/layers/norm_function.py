"""LN of a state and LN_v of its velocity with the statistics taken once."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx

from wavy.layers.eager import by_hand, gradients_of, needs_graph
from wavy.layers.formulas import norm_formula
from wavy.layers.pair import check_pair


def norm_pair(
    x: Tensor,
    velocity: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
    exact: bool = False,
) -> tuple[Tensor, Tensor]:
    """LN of a state and LN_v of its velocity, see :class:`wavy.layers.JointLayerNorm`.

    Args:
        x: state, (..., d).
        velocity: same shape.
        weight: gamma, (d,), or ``None`` for 1.
        bias: beta, (d,), or ``None`` for 0.
        eps: added to the variance.
        exact: see :class:`wavy.layers.JointLayerNorm`.

    Returns:
        Both, (..., d).

    Raises:
        ValueError: shapes that differ.
    """
    check_pair(x, velocity)
    inputs = x, velocity, weight, bias
    same = x.dtype in (torch.float32, torch.float64) and all(t is not None and t.dtype == x.dtype for t in inputs)
    if exact or not same or not by_hand(*inputs):
        return norm_formula(*inputs, eps, exact)
    if needs_graph(*inputs):
        return _NormPair.apply(*inputs, eps)
    normed, _, scale = torch.native_layer_norm(x, x.shape[-1:], weight, bias, eps)
    return normed, (velocity * scale).mul_(weight)


class _NormPair(torch.autograd.Function):
    """LN has the factor of LN_v at hand, but its gradient is lost outside; here it is written out."""

    @staticmethod
    def forward(
        ctx: FunctionCtx, x: Tensor, velocity: Tensor, weight: Tensor, bias: Tensor, eps: float
    ) -> tuple[Tensor, Tensor]:
        normed, mean, scale = torch.native_layer_norm(x, x.shape[-1:], weight, bias, eps)
        ctx.save_for_backward(x, velocity, weight, bias, mean, scale)
        ctx.eps = eps
        return normed, (velocity * scale).mul_(weight)

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor, grad_velocity: Tensor) -> tuple[Tensor | None, ...]:
        *inputs, mean, scale = ctx.saved_tensors
        if torch.is_grad_enabled():  # the gradient is to be differentiated again
            return gradients_of(
                lambda *tensors: norm_formula(*tensors, ctx.eps), inputs, ctx.needs_input_grad, (grad, grad_velocity)
            )
        x, velocity, weight, bias = inputs
        grad_x, grad_weight, grad_bias = torch.ops.aten.native_layer_norm_backward(
            grad, x, x.shape[-1:], mean, scale, weight, bias, (True, True, True)
        )
        # The factor r moves with the state: dr = -r^3 mean((x - m) dx).
        along = grad_velocity * velocity
        pull = (along * weight).mean(dim=-1, keepdim=True) * scale**3
        grad_x.addcmul_(x - mean, pull, value=-1)
        grad_weight += along.mul_(scale).reshape(-1, x.shape[-1]).sum(dim=0)
        return grad_x, (grad_velocity * scale).mul_(weight), grad_weight, grad_bias, None
