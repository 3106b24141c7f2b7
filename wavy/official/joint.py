"""LayerNorm and mlp for a state and its velocity as the published code names and computes them."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from wavy.layers import mlp_pair, norm_pair


class JointLN(nn.Module):
    """LN of the state, LN_v of the velocity (:class:`wavy.layers.JointLayerNorm` with the names gamma and beta).

    Args:
        dim: channels d.
        eps: added to the variance.
    """

    def __init__(self, dim: int, eps: float) -> None:
        super().__init__()
        self.gamma, self.beta, self.eps = nn.Parameter(torch.ones(dim)), nn.Parameter(torch.zeros(dim)), eps

    def forward(self, x: Tensor, velocity: Tensor) -> tuple[Tensor, Tensor]:
        """Both, (..., d)."""
        return norm_pair(x, velocity, self.gamma, self.beta, self.eps)


def joint_mlp(x: Tensor, velocity: Tensor, first: nn.Linear, second: nn.Linear) -> tuple[Tensor, Tensor]:
    """The mlp with gelu (erf) of a state and FFN_v of its velocity, (..., d)."""
    return mlp_pair(x, velocity, (first.weight, first.bias), (second.weight, second.bias))
