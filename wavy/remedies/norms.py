"""Normalisations against over-smoothing, in place of LayerNorm."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

#: How far ContraNorm pushes nodes apart, the default of the published code.
SCALE = 0.1


class ContraNorm(nn.Module):
    """LN(X - s softmax(U U^T) X), where U holds the rows of X divided by their norms.

    Each node is pushed away from the others, most from those like it. Attention in torch computes the product without
    keeping the (N, N) matrix, but its time is O(N^2): fit for thousands of nodes, not for millions.

    Args:
        channels: d.

    Shapes:
        x and the result: (N, d).

    Source: Guo et al., *ContraNorm*, ICLR 2023. s = 0.1, temperature 1 and the division of the rows as in its code.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(channels)

    def forward(self, x: Tensor) -> Tensor:
        """The normalised state, (N, d)."""
        unit = F.normalize(x, dim=-1)[None, None]
        others = F.scaled_dot_product_attention(unit, unit, x[None, None], scale=1.0)[0, 0]
        return self.norm(x - SCALE * others)
