"""Normalisations against over-smoothing, in place of LayerNorm."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

#: How far ContraNorm pushes nodes apart, the default of the published code.
SCALE = 0.1


class ContraNorm(nn.Module):
    """LN(X - s softmax(U U^T) X), where U holds the rows of X divided by their norms.

    Each node or token is pushed away from the others, most from those like it. Attention in torch computes the product
    without keeping the (N, N) matrix, but its time is O(N^2): fit for thousands of nodes, not for millions.

    Args:
        channels: d.
        eps: of LayerNorm.
        device, dtype: of its parameters.

    Shapes:
        x and the result: (..., N, d).

    Source: Guo et al., *ContraNorm*, ICLR 2023. s = 0.1, temperature 1 and the division of the rows as in its code.
    """

    def __init__(
        self,
        channels: int,
        eps: float = 1e-5,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(channels, eps, device=device, dtype=dtype)

    def forward(self, x: Tensor) -> Tensor:
        """The normalised state, (..., N, d)."""
        values = x.unsqueeze(-3)  # torch keeps no (N, N) matrix where there is a dimension of heads
        unit = F.normalize(values, dim=-1)
        others = F.scaled_dot_product_attention(unit, unit, values, scale=1.0).squeeze(-3)
        return self.norm(x - SCALE * others)
