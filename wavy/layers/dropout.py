"""Dropout of a state and its velocity under one mask."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wavy.layers.pair import Pair, check_pair


class JointDropout(nn.Module):
    """Dropout with one mask for a state and its velocity, so that the chain rule behind FFN_v keeps holding.

    Args:
        p: probability that a channel is dropped, 0 <= p < 1.

    Shapes:
        x, velocity: (..., d).

    Raises:
        ValueError: ``p`` out of range.
    """

    def __init__(self, p: float = 0.0) -> None:
        super().__init__()
        if not 0 <= p < 1:
            raise ValueError(f"p: found {p!r}, allowed 0 <= p < 1")
        self.p = p

    def forward(self, x: Tensor, velocity: Tensor | None = None) -> Pair:
        """Both under the same mask while training; unchanged in eval mode."""
        check_pair(x, velocity)
        return shared_dropout(x, velocity, self.p, self.training)

    def extra_repr(self) -> str:
        return f"p={self.p:g}"


def shared_dropout(
    x: Tensor,
    velocity: Tensor | None,
    p: float,
    training: bool,
) -> Pair:
    """Dropout of a state and its velocity, each (..., d), under one mask."""
    if not training or p == 0:
        return x, velocity
    if velocity is None and not _draws_bits(x):
        return F.dropout(x, p), None
    mask = _mask(x, p)
    return x * mask, None if velocity is None else velocity * mask


def _mask(like: Tensor, p: float) -> Tensor:
    """0 with probability p, else what keeps the mean at 1; in the shape and type of ``like``.

    On the CPU, 16 random bits decide about an entry, in a fifth of the time that ``F.dropout`` takes. The probability
    is then the multiple of 2^-16 that is nearest to p, neither 0 nor 1, and the mean is 1 for that one.
    """
    if not _draws_bits(like):
        return F.dropout(torch.ones_like(like), p)
    dropped = min(max(round(p * 2**16), 1), 2**16 - 1)
    # From the least number on without an end: all 64 bits are random, for four entries.
    bits = torch.empty(math.ceil(like.numel() / 4), dtype=torch.int64, device=like.device).random_(-(2**63), None)
    bits = bits.view(torch.int16)
    mask = torch.empty(like.shape, dtype=like.dtype, device=like.device)
    torch.ge(bits[: like.numel()].view(like.shape), dropped - 2**15, out=mask)
    return mask.mul_(2**16 / (2**16 - dropped))


def _draws_bits(x: Tensor) -> bool:
    # A compiler has a fast dropout of its own, and vmap decides itself which masks are the same.
    if x.device.type != "cpu" or torch.compiler.is_compiling() or torch.jit.is_tracing():
        return False
    transforms = torch._C._functorch.get_interpreter_stack() or ()
    return all(transform.key() != torch._C._functorch.TransformType.Vmap for transform in transforms)
