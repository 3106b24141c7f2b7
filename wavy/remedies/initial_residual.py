"""Two models in which every layer reads the start again: APPNP and GCNII, with PyG's layers."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import conv

from wavy.remedies.graph_model import GraphModel, PreparedGraph

#: Share of the start in each layer, that of both papers for Cora.
ALPHA = 0.1
#: Sets GCNII's beta_l = log(THETA / l + 1); the paper's value for Cora, where it is called lambda.
THETA = 0.5


class APPNP(GraphModel):
    """Z' = (1 - alpha) A Z + alpha Z^0 from Z^0 = mlp(features), the logits; A = D^-1/2 A_G D^-1/2.

    No layer has parameters. The state is (N, C), not (N, d).

    Source: Gasteiger, Bojchevski and Günnemann, ICLR 2019. alpha = 0.1 as there; its dropout of edges is left out.
    """

    def build(self, channels: int, num_layers: int, dropout: float) -> None:
        """PyG's APPNP."""
        self.layers = conv.APPNP(num_layers, ALPHA, normalize=False)

    def forward(self, x: Tensor, graph: Tensor | PreparedGraph) -> Tensor:
        """Class logits, (N, C)."""
        logits = self.readout(self.embedding(x))
        return self.layers(logits, self.prepared(graph, x.shape[0]).adjacency)


class GCNII(GraphModel):
    """X' = relu(((1 - alpha) A X + alpha X^0) ((1 - beta_l) I + beta_l W)), beta_l = log(theta / l + 1).

    A = D^-1/2 A_G D^-1/2; dropout before each layer.

    Source: Chen et al., ICML 2020. alpha = 0.1 and theta = 0.5 as there for Cora.
    """

    def build(self, channels: int, num_layers: int, dropout: float) -> None:
        """PyG's GCN2Conv."""
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(
            conv.GCN2Conv(channels, ALPHA, THETA, layer, normalize=False) for layer in range(1, num_layers + 1)
        )

    def evolve(self, x: Tensor, graph: PreparedGraph) -> Tensor:
        """The last state, (N, d)."""
        start = x
        for layer in self.layers:
            x = F.relu(layer(self.dropout(x), start, graph.adjacency))
        return x
