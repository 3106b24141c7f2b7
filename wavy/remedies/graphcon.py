"""GraphCON: nodes as oscillators that the graph couples."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import GCNConv

from wavy.remedies.graph_model import GraphModel, PreparedGraph

#: Stiffness gamma and damping alpha of the oscillators, and the step h.
GAMMA, ALPHA, STEP = 1.0, 0.0, 1.0


class GraphCON(GraphModel):
    """X'' = relu(F(X)) - gamma X - alpha X', with F one layer of GCN, F(X) = A X W + b.

    A layer is one step of the scheme that the paper calls IMEX, from Y^0 = X^0:

    ``Y' = Y + h (relu(F(X)) - gamma X - alpha Y),  X' = X + h Y'``.

    All layers share W, as in the published code; dropout acts on what F reads and leaves the oscillation alone. The
    published code draws h = alpha = gamma = 1 where nothing is tuned; there X' = relu(F(X)), which is GCN. Here the
    oscillators are undamped, the case that the paper analyses: h = gamma = 1, alpha = 0.

    Source: Rusch et al., *Graph-Coupled Oscillator Networks*, ICML 2022.
    """

    def build(self, channels: int, num_layers: int, dropout: float) -> None:
        """The coupling F."""
        self.num_layers = num_layers
        self.dropout = nn.Dropout(dropout)
        self.coupling = GCNConv(channels, channels, normalize=False)

    def evolve(self, x: Tensor, graph: PreparedGraph) -> Tensor:
        """The last positions, (N, d)."""
        velocity = x
        for _ in range(self.num_layers):
            force = F.relu(self.coupling(self.dropout(x), graph.adjacency))
            velocity = velocity + STEP * (force - GAMMA * x - ALPHA * velocity)
            x = x + STEP * velocity
        return x
