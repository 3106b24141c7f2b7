"""What the remedies are measured against: GCN, GAT and an mlp that sees no graph, all of them PyG's own.

No activation follows the last layer, so that with the readout it is the last layer of the usual network.
"""

from __future__ import annotations

from torch import Tensor
from torch_geometric.nn import models

from wavy.remedies.graph_model import GraphModel, PreparedGraph

#: Heads of GAT, as published; together they have d channels.
GAT_HEADS = 8


class GCN(GraphModel):
    """X' = dropout(relu(A X W + b)) with A = D^-1/2 A_G D^-1/2.

    Source: Kipf and Welling, ICLR 2017.
    """

    def build(self, channels: int, num_layers: int, dropout: float) -> None:
        """PyG's GCN."""
        self.layers = models.GCN(channels, channels, num_layers, dropout=dropout, normalize=False)

    def evolve(self, x: Tensor, graph: PreparedGraph) -> Tensor:
        """The last state, (N, d)."""
        return self.layers(x, graph.adjacency)


class GAT(GraphModel):
    """X'_i = dropout(elu(sum_j a_ij W x_j)), a_ij = softmax_j leaky_relu(u . W x_i + v . W x_j) over edges (j, i).

    ``GAT_HEADS`` heads side by side; dropout also on the a_ij.

    Source: Veličković et al., ICLR 2018.
    """

    def build(self, channels: int, num_layers: int, dropout: float) -> None:
        """PyG's GAT."""
        self.layers = models.GAT(
            channels, channels, num_layers, dropout=dropout, act="elu", heads=GAT_HEADS, add_self_loops=False
        )

    def evolve(self, x: Tensor, graph: PreparedGraph) -> Tensor:
        """The last state, (N, d)."""
        return self.layers(x, graph.edge_index.long())  # PyG groups edges by indices of this type alone


class MLP(GraphModel):
    """X' = dropout(relu(X W + b)): the same depth and width without the graph, and without a norm."""

    def build(self, channels: int, num_layers: int, dropout: float) -> None:
        """PyG's MLP."""
        self.layers = models.MLP([channels] * (num_layers + 1), dropout=dropout, norm=None)

    def evolve(self, x: Tensor, graph: PreparedGraph) -> Tensor:
        """The last state, (N, d)."""
        return self.layers(x)
