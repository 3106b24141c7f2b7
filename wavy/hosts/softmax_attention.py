"""Softmax attention with several heads, in its textbook form."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wavy.checks import check_divisor, check_whole


class SoftmaxAttention(nn.Module):
    """Self-attention with H heads: :eq:`eq-attention`.

    A head h has ``A_h = softmax(Q_h K_h^T / sqrt(d_h))``, Q_h = X W_Q, K_h = X W_K, d_h = d / H.
    With values, the output is the heads' A_h X W_V side by side, times W_O. Without, it is
    the heads' mean of A_h X: no matrix stands between X and its average.

    Args:
        dim: channels d.
        heads: H, a divisor of d.
        use_value: whether W_V and W_O are there.

    Shapes:
        x and the result: (..., N, d).

    Raises:
        ValueError: ``heads`` does not divide ``dim``.

    Source: Vaswani et al. (2017).
    """

    def __init__(self, dim: int, heads: int = 1, use_value: bool = True) -> None:
        super().__init__()
        check_whole("dim", dim)
        check_divisor("heads", heads, "dim", dim)
        self.heads = heads
        self.query = nn.Linear(dim, dim)
        self.key = nn.Linear(dim, dim)
        self.value = nn.Linear(dim, dim) if use_value else None
        self.out = nn.Linear(dim, dim) if use_value else None

    def matrix(self, x: Tensor) -> Tensor:
        """The attention matrices A_h, (..., H, N, N); each row sums to one."""
        query, key = self._split(self.query(x)), self._split(self.key(x))
        scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
        return torch.softmax(scores, dim=-1)

    def forward(self, x: Tensor) -> Tensor:
        """Attn(X), (..., N, d)."""
        if self.value is None:
            return self.matrix(x).mean(dim=-3) @ x
        linears = (self.query, self.key, self.value)
        query, key, value = (self._split(linear(x)) for linear in linears)
        heads = F.scaled_dot_product_attention(query, key, value)
        return self.out(heads.transpose(-2, -3).flatten(-2))

    def _split(self, x: Tensor) -> Tensor:
        """(..., N, d) -> (..., H, N, d / H)."""
        return x.unflatten(-1, (self.heads, -1)).transpose(-2, -3)
