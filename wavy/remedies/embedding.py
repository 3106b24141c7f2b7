"""The input layer that all remedies share."""

from __future__ import annotations

from torch import Tensor, nn

from wavy.hosts.features import feature_linear


class Embedding(nn.Module):
    """From features to the first state: Linear, LayerNorm, ReLU, dropout, as DIFFormer begins.

    Args:
        in_channels: features F of a node.
        channels: channels d of the state.
        dropout: probability.

    Shapes:
        - **input:** (N, F), dense or sparse CSR.
        - **output:** (N, d).
    """

    def __init__(self, in_channels: int, channels: int, dropout: float) -> None:
        super().__init__()
        self.linear = nn.Linear(in_channels, channels)
        self.rest = nn.Sequential(nn.LayerNorm(channels), nn.ReLU(), nn.Dropout(dropout))

    def forward(self, x: Tensor) -> Tensor:
        """The first state, (N, d)."""
        return self.rest(feature_linear(self.linear, x))
