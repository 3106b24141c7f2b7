"""The input layer that all remedies share."""

from __future__ import annotations

from torch import Tensor, nn

from wavy.hosts.propagation import sparse_product


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
        if x.is_sparse_csr:
            return self.rest(sparse_product(x, self.linear.weight.t()) + self.linear.bias)
        return self.rest(self.linear(x))
