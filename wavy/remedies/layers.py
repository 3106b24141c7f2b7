"""Layers of DIFFormer with another residual or normalisation.

Each maps a state X to the next: ``layer(x, operator, start) -> x``, where ``operator`` gives A X = attention(X) +
GCN(X) for a state, and ``start`` is X^0. All states are (N, d). A norm-free or pre-norm layer has dropout on its
branch, as its paper has, since dropout of an unnormalised state would add up over the layers.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from wavy.dynamics import diffusion_step

Operator = Callable[[Tensor], Tensor]

#: Share of X^0 in each layer of :class:`InitialResidual`, that of GCNII.
INITIAL_SHARE = 0.1


class NormedDiffusion(nn.Module):
    """X' = dropout(Norm(tau A X + (1 - tau) X)): DIFFormer's layer with any norm.

    Args:
        norm: for instance PairNorm, which keeps the mean squared distance between nodes (Zhao and Akoglu, ICLR 2020).
        tau: step size.
        dropout: probability.
    """

    def __init__(self, norm: torch.nn.Module, tau: float, dropout: float) -> None:
        super().__init__()
        self.tau, self.finish = tau, nn.Sequential(norm, nn.Dropout(dropout))

    def forward(self, x: Tensor, operator: Operator, start: Tensor) -> Tensor:
        """The next state, (N, d)."""
        return self.finish(diffusion_step(x, operator(x), self.tau))


class ScaledBranch(nn.Module):
    """X' = X + alpha dropout(A X) with one trained alpha and no norm: SkipInit and ReZero.

    The two papers have the same formula and differ in where alpha starts. ReZero starts at 0, so that the network is
    the identity; SkipInit allows 0 or up to 1/sqrt(L), and takes the latter here.

    Args:
        alpha: start value of alpha.
        dropout: probability.

    Source: De and Smith, NeurIPS 2020 (SkipInit); Bachlechner et al., UAI 2021 (ReZero).
    """

    def __init__(self, alpha: float, dropout: float) -> None:
        super().__init__()
        self.alpha, self.dropout = nn.Parameter(torch.tensor(alpha)), nn.Dropout(dropout)

    def forward(self, x: Tensor, operator: Operator, start: Tensor) -> Tensor:
        """The next state, (N, d)."""
        return x + self.alpha * self.dropout(operator(x))


class LayerScale(nn.Module):
    """X' = X + gamma * dropout(A LN(X)) with one trained gamma a channel, pre-norm as in its paper.

    Args:
        channels: d.
        num_layers: layers L of the network: gamma starts at 0.1 up to 18 layers, 1e-5 up to 24, and 1e-6 beyond.
        dropout: probability.

    Source: Touvron et al., *Going deeper with image transformers*, ICCV 2021.
    """

    def __init__(self, channels: int, num_layers: int, dropout: float) -> None:
        super().__init__()
        gamma = 0.1 if num_layers <= 18 else 1e-5 if num_layers <= 24 else 1e-6
        self.gamma, self.norm = nn.Parameter(torch.full((channels,), gamma)), nn.LayerNorm(channels)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, operator: Operator, start: Tensor) -> Tensor:
        """The next state, (N, d)."""
        return x + self.gamma * self.dropout(operator(self.norm(x)))


class InitialResidual(nn.Module):
    """X' = dropout(LN((1 - a) A X + a X^0)): GCNII's residual with a = 0.1, without its matrices W.

    DIFFormer has no matrix in its layers, and with beta_l = 0 GCNII has none either. (DIFFormer's own ``use_source``
    adds X^0 to A X and keeps X.)

    Args:
        channels: d.
        dropout: probability.

    Source: Chen et al., *Simple and deep graph convolutional networks*, ICML 2020.
    """

    def __init__(self, channels: int, dropout: float) -> None:
        super().__init__()
        self.finish = nn.Sequential(nn.LayerNorm(channels), nn.Dropout(dropout))

    def forward(self, x: Tensor, operator: Operator, start: Tensor) -> Tensor:
        """The next state, (N, d)."""
        return self.finish(torch.lerp(operator(x), start, INITIAL_SHARE))
