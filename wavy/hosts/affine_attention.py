"""The ``simple`` attention of queries, keys and values that are affine in the state, without forming them."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx

from wavy.layers.eager import by_hand, gradients_of

#: Weight and bias of an affine map for H heads, (H m, d) and (H m,).
Affine = tuple[Tensor, Tensor]


def affine_simple_attention(x: Tensor, heads: int, query: Affine, key: Affine, value: Affine | None = None) -> Tensor:
    """What :func:`wavy.hosts.attention.simple_attention` gives for q_i = W_Q x_i + b_Q, and k, v likewise.

    Of all nodes only the mean m and the scatter S = sum_j (x_j - m)(x_j - m)^T enter. With qm = W_Q m + b_Q, and
    km, vm likewise, and s = 1 / (|Q| |K|), the equation becomes

    ``(A V)_i = vm + s q_i^T W_K S W_V^T / (N (1 + s q_i . km)),  |Q|^2 = tr(W_Q S W_Q^T) + N |qm|^2``

    Two products have N rows, where queries and keys take four. Nothing large cancels, so in single precision
    this is also closer to the equation. Half precision is computed in single precision.

    Args:
        x: state, (N, d).
        heads: H.
        query: weight (H m, d) and bias (H m,).
        key: the same shapes.
        value: weight (H d, d) and bias (H d,); ``None`` for the state itself in every head.

    Returns:
        A V for each head, (N, H, d).

    Source: DIFFormer (Wu et al., ICLR 2023) for the kernel; this form is ours.
    """
    precise = torch.promote_types(x.dtype, torch.float32)
    with torch.autocast(x.device.type, enabled=False):
        affine = [pair for pair in (query, key, value) if pair is not None]
        own = by_hand(x, *(tensor for pair in affine for tensor in pair))
        centred, mean, scatter = (_Moments.apply if own else _moments)(x.to(precise))
        by_head = ([tensor.to(precise).unflatten(0, (heads, -1)) for tensor in pair] for pair in affine)
        coefficients = _coefficients(_count(x), mean, scatter, *by_head)
        return (_Apply.apply if own else _apply)(centred, *coefficients).to(x.dtype)


def _count(x: Tensor) -> int:
    """N, or 1 where there are no nodes, so that their mean is a number."""
    return max(len(x), 1)


def _coefficients(
    nodes: int, mean: Tensor, scatter: Tensor, query: Affine, key: Affine, value: Affine | None = None
) -> tuple[Tensor, ...]:
    """The small matrices of which the result is made, see :func:`_apply`."""
    (query_weight, _), (key_weight, _) = query, key
    query_mean, key_mean = (weight @ mean + bias for weight, bias in (query, key))  # (H, m)
    query_scatter, key_scatter = query_weight @ scatter, key_weight @ scatter  # (H, m, d)
    query_square = (query_scatter * query_weight).sum() + nodes * query_mean.square().sum()
    key_square = (key_scatter * key_weight).sum() + nodes * key_mean.square().sum()
    scale = query_square.rsqrt() * key_square.rsqrt()
    key_value, key_mean = scale / nodes * key_scatter, scale * key_mean
    value_mean = mean.expand(len(query_weight), -1)
    if value is not None:
        key_value, value_mean = key_value @ value[0].mT, value[0] @ mean + value[1]
    return (
        torch.einsum("hmi,hmo->iho", query_weight, key_value),
        torch.einsum("hm,hmo->ho", query_mean, key_value),
        torch.einsum("hmi,hm->ih", query_weight, key_mean),
        1 + (query_mean * key_mean).sum(dim=-1),
        value_mean,
    )


def _moments(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Centred state (N, d), mean (d,) and scatter (d, d)."""
    mean = x.sum(dim=0) / _count(x)
    centred = x - mean
    return centred, mean, centred.mT @ centred


def _apply(centred: Tensor, weight: Tensor, bias: Tensor, below: Tensor, below_bias: Tensor, mean: Tensor) -> Tensor:
    """mean + (centred weight + bias) / (centred below + below_bias) for each head, (N, H, d)."""
    above = (centred @ weight.flatten(1)).unflatten(1, bias.shape) + bias
    return mean + above / (centred @ below + below_bias).unsqueeze(-1)


class _Moments(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        centred, mean, scatter = _moments(x)
        ctx.save_for_backward(x, centred)
        return centred, mean, scatter

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x, centred = ctx.saved_tensors
        if torch.is_grad_enabled():  # the gradient is to be differentiated again
            return gradients_of(_moments, (x,), ctx.needs_input_grad, grads)
        grad_centred, grad_mean, grad_scatter = grads
        # The scatter is symmetric in its two factors: one product serves both.
        grad = torch.addmm(grad_centred, centred, grad_scatter + grad_scatter.mT)
        return (grad.add_((grad_mean - grad.sum(dim=0)) / _count(x)),)


class _Apply(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, centred: Tensor, *coefficients: Tensor) -> Tensor:
        weight, bias, below, below_bias, mean = coefficients
        inverse = torch.addmm(below_bias, centred, below).reciprocal_().unsqueeze(-1)
        ratio = torch.addmm(bias.flatten(), centred, weight.flatten(1)).unflatten(1, bias.shape).mul_(inverse)
        ctx.save_for_backward(centred, *coefficients, inverse, ratio)
        return mean + ratio

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, ...]:
        *inputs, inverse, ratio = ctx.saved_tensors
        if torch.is_grad_enabled():  # the gradient is to be differentiated again
            return gradients_of(lambda *tensors: (_apply(*tensors),), inputs, ctx.needs_input_grad, (grad,))
        centred, weight, bias, below, *_ = inputs
        above = grad * inverse
        grad_below = (above * ratio).sum(dim=-1).neg_()
        above = above.flatten(1)
        return (
            (grad_below @ below.mT).addmm_(above, weight.flatten(1).mT),
            (centred.mT @ above).unflatten(1, bias.shape),
            above.sum(dim=0).unflatten(0, bias.shape),
            centred.mT @ grad_below,
            grad_below.sum(dim=0),
            grad.sum(dim=0),
        )
