"""Dropout of a state and its velocity under one mask."""

from __future__ import annotations

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
    if velocity is None:
        return F.dropout(x, p), None
    mask = F.dropout(torch.ones_like(x), p)
    return x * mask, velocity * mask
