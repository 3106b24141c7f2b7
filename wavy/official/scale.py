"""FeatScale and AttnScale as published by their own authors: one block, and one attention."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wavy.hosts.scales import allowed_mean, rescale, scale_heads
from wavy.official.vit import Attention, Mlp


class FeatScaleBlock(nn.Module):
    """A pre-norm transformer block with FeatScale.

    The scaled mean and rest of attention's output are added twice, so the factors are 1 + 2 lamb.

    Args:
        dim: channels d.
        num_heads: H.
        mlp_ratio: channels between the layers of the mlp, relative to d.
        qkv_bias: whether queries, keys and values have a bias.
        ln_eps: LayerNorm's epsilon.

    Source: published code of FeatScale and AttnScale.
    """

    def __init__(
        self, *, dim: int, num_heads: int, mlp_ratio: float = 4.0, qkv_bias: bool = False, ln_eps: float = 1e-5
    ) -> None:
        super().__init__()
        self.lamb1, self.lamb2 = nn.Parameter(torch.zeros(dim)), nn.Parameter(torch.zeros(dim))
        self.norm1, self.norm2 = nn.LayerNorm(dim, eps=ln_eps), nn.LayerNorm(dim, eps=ln_eps)
        self.attn, self.mlp = Attention(dim, num_heads, qkv_bias), Mlp(dim, int(dim * mlp_ratio))

    def forward(self, x: Tensor) -> Tensor:
        """The next state, (B, N, d)."""
        attended = self.attn(self.norm1(x))
        x = x + rescale(attended, allowed_mean(attended), 2 * self.lamb1, 2 * self.lamb2)
        return x + self.mlp.fc2(F.gelu(self.mlp.fc1(self.norm2(x))))


class AttnScaleAttention(Attention):
    """Attention whose high frequencies are scaled a head: J/N + (1 + lamb)(A - J/N), J all ones.

    Args:
        dim: channels d.
        num_heads: H.
        qkv_bias: whether queries, keys and values have a bias.

    Source: published code of FeatScale and AttnScale.
    """

    def __init__(self, *, dim: int, num_heads: int, qkv_bias: bool = False) -> None:
        super().__init__(dim, num_heads, qkv_bias)
        self.lamb = nn.Parameter(torch.zeros(num_heads))

    def forward(self, x: Tensor) -> Tensor:
        """Attn(X), (B, N, d)."""
        query, key, value = self.split(x)
        weights = (query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5).softmax(dim=-1)
        weights = scale_heads(weights, weights.mean(dim=-1, keepdim=True), self.lamb)
        return self.proj((weights @ value).transpose(1, 2).flatten(2))
