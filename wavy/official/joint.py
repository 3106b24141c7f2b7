"""LayerNorm and mlp for a state and its velocity as the published code names and computes them."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wavy.layers import ACTIVATIONS, velocity_norm


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
        normed = F.layer_norm(x, self.gamma.shape, self.gamma, self.beta, self.eps)
        return normed, velocity_norm(x, velocity, self.gamma, self.eps)


def joint_mlp(x: Tensor, velocity: Tensor, first: nn.Linear, second: nn.Linear) -> tuple[Tensor, Tensor]:
    """The mlp with gelu (erf) of a state and FFN_v of its velocity, (..., d)."""
    phi, phi_prime_times = ACTIVATIONS["gelu"]
    hidden = first(x)
    along = phi_prime_times(F.linear(velocity, first.weight), hidden)
    return second(phi(hidden)), F.linear(along, second.weight)
