"""The ``simple`` attention of queries and keys that are affine in the state, without forming them."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx

from wavy.layers.eager import by_hand, gradients_of, needs_graph
from wavy.layers.precision import at_least_single, no_autocast

#: Weight and bias of an affine map for H heads, (H m, d) and (H m,).
Affine = tuple[Tensor, Tensor]


def affine_simple_attention(x: Tensor, heads: int, query: Affine, key: Affine) -> Tensor:
    """What :func:`wavy.hosts.attention.simple_attention` makes of the state X, for q_i = W_Q x_i + b_Q and k likewise.

    Of all nodes together only their mean m and scatter S = sum_j (x_j - m)(x_j - m)^T enter. With qm = W_Q m + b_Q,
    km likewise, and ``s = 1 / (|Q| |K|)``, the equation becomes

    ``(A X)_i = m + s q_i^T W_K S / (N (1 + s q_i . km)),  |Q|^2 = tr(W_Q S W_Q^T) + N |qm|^2``

    Two products have N rows, where queries and keys take four; with the gradients it is five in place of twelve. Where
    the nodes are nearly alike the single precision of the equation leaves its gradients no digit; here nothing large
    cancels. Half precision is computed in single precision. Values V = X W_V^T + b_V need no form of their own: the
    rows of A sum to 1, so that A V = (A X) W_V^T + b_V.

    Args:
        x: state, (N, d).
        heads: H.
        query: weight (H m, d) and bias (H m,).
        key: the same shapes.

    Returns:
        A X for each head, (N, H, d).

    Source: DIFFormer (Wu et al., ICLR 2023) for the kernel; this form is ours.
    """
    precise = at_least_single(x)
    with no_autocast(x):
        weight, bias = (torch.cat(pair).to(precise) for pair in zip(query, key, strict=True))
        inputs = x.to(precise), weight, bias
        if by_hand(*inputs) and needs_graph(*inputs):
            return _Attention.apply(*inputs, heads).to(x.dtype)
        return _attention(*inputs, heads)[0].to(x.dtype)


def _attention(x: Tensor, weight: Tensor, bias: Tensor, heads: int) -> tuple[Tensor, ...]:
    """The result, and what its gradient needs. Of ``weight`` and ``bias`` the first half are the queries'."""
    count = _count(x)
    mean = x.sum(dim=0) / count
    centred = x - mean
    scatter = centred.mT @ centred
    # The affine maps in the coordinates [x - m, 1], and behind them what they make of all nodes, diag(S, N).
    maps = torch.cat([weight, torch.addmv(bias, weight, mean).unsqueeze(1)], dim=1)
    sums = torch.cat([weight @ scatter, count * maps[:, -1:]], dim=1)
    squares = (maps * sums).view(2, -1).sum(dim=1)
    scale = squares.rsqrt().prod() / count
    query, key_sum = (half.view(2, heads, -1, x.shape[1] + 1)[i] for i, half in enumerate((maps, sums)))
    kernel = (scale * query.mT @ key_sum).transpose(0, 1)  # (d + 1, H, d + 1), with the denominator as last column
    above, below = kernel[..., :-1], kernel[..., -1]
    inverse = torch.addmm(1 + below[-1], centred, below[:-1]).reciprocal().unsqueeze(-1)
    moved = torch.addmm(above[-1].flatten(), centred, above[:-1].flatten(1)).unflatten(1, (heads, -1)) * inverse
    return mean + moved, mean, centred, scatter, maps, sums, squares, scale, kernel, inverse, moved


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, weight: Tensor, bias: Tensor, heads: int) -> Tensor:
        out, *saved = _attention(x, weight, bias, heads)
        ctx.save_for_backward(x, weight, bias, *saved)
        ctx.heads = heads
        return out

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, ...]:
        with no_autocast(grad):
            return _gradients(ctx, grad)


def _gradients(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, ...]:
    x, weight, bias, mean, centred, scatter, maps, sums, squares, scale, kernel, inverse, moved = ctx.saved_tensors
    if torch.is_grad_enabled():  # the gradient is to be differentiated again
        return gradients_of(
            lambda *tensors: _attention(*tensors, ctx.heads)[:1], (x, weight, bias), ctx.needs_input_grad, (grad,)
        )
    count, halves = _count(x), (2, ctx.heads, -1, x.shape[1] + 1)
    above = grad * inverse
    below = (above * moved).sum(dim=-1).neg_()
    above = above.flatten(1)
    grad_kernel = torch.cat(
        [
            torch.cat([centred.mT @ above, above.sum(dim=0, keepdim=True)]).unflatten(1, (ctx.heads, -1)),
            torch.cat([centred.mT @ below, below.sum(dim=0, keepdim=True)]).unsqueeze(-1),
        ],
        dim=-1,
    )
    pull = (grad_kernel * kernel).sum() / -2 / squares  # through the two norms
    grad_kernel = scale * grad_kernel.transpose(0, 1)
    grad_query = sums.view(halves)[1] @ grad_kernel.mT
    grad_sum = (maps.view(halves)[0] @ grad_kernel).flatten(0, 1)
    grad_key = torch.cat([grad_sum[:, :-1] @ scatter, count * grad_sum[:, -1:]], dim=1)
    grad_maps = torch.cat([grad_query.flatten(0, 1), grad_key]).view(2, -1)
    grad_maps = grad_maps.addcmul(sums.view(2, -1), pull.unsqueeze(1), value=2).view_as(maps)
    grad_weight, grad_bias = grad_maps[:, :-1].addr(grad_maps[:, -1], mean), grad_maps[:, -1]
    pulled = (weight.view(2, -1) * pull.unsqueeze(1)).view_as(weight)
    pulled[len(grad_sum) :] += grad_sum[:, :-1]
    grad_scatter = weight.mT @ pulled
    grad_mean = weight.mT @ grad_bias + grad.sum(dim=(0, 1))
    grad_x = (below @ kernel[:-1, :, -1].mT).addmm_(above, kernel[:-1, :, :-1].flatten(1).mT)
    # The scatter takes each of its two factors from the same nodes: one product serves both.
    grad_x.addmm_(centred, grad_scatter + grad_scatter.mT)
    return grad_x.add_((grad_mean - grad_x.sum(dim=0)) / count), grad_weight, grad_bias, None


def _count(x: Tensor) -> int:
    """N, or 1 where there are no nodes, so that their mean is a number."""
    return max(len(x), 1)
