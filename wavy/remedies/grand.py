"""GRAND: diffusion along the edges with learned attention."""

from __future__ import annotations

from torch import Tensor, nn
from torch_geometric.utils import softmax

from wavy.dynamics import diffusion_step
from wavy.hosts.propagation import Propagation
from wavy.remedies.graph_model import GraphModel, PreparedGraph

#: Heads, whose attentions are averaged, channels of each, and the step of Euler's method.
HEADS, HEAD_CHANNELS, STEP = 8, 16, 1.0


class GRAND(GraphModel):
    """dX/dt = (A(X^0) - I) X by Euler's method; A is row stochastic along the edges.

    ``a_ij = mean over heads of softmax_j (W_Q x_i . W_K x_j / sqrt(d_head))`` over the edges (j, i), read off the first
    state and then fixed, so that the equation is linear (GRAND-l). All layers share it: depth is the end time.

    Source: Chamberlain et al., *GRAND*, ICML 2021. Heads, their channels and the step 1 as there for Cora, where the
    end time is 18.3; its adaptive solvers, source term and positional encodings are left out.
    """

    def build(self, channels: int, num_layers: int, dropout: float) -> None:
        """W_Q and W_K."""
        self.num_layers = num_layers
        self.Wq = nn.Linear(channels, HEADS * HEAD_CHANNELS)
        # A bias of the keys would shift all scores of a node alike, which softmax does not see.
        self.Wk = nn.Linear(channels, HEADS * HEAD_CHANNELS, bias=False)

    def attention(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """a_ij for each edge (j, i), (E,)."""
        source, target = edge_index
        query, key = self.Wq(x).index_select(0, target), self.Wk(x).index_select(0, source)
        score = (query * key).view(-1, HEADS, HEAD_CHANNELS).sum(dim=-1) / HEAD_CHANNELS**0.5
        return softmax(score, target, num_nodes=x.shape[0]).mean(dim=-1)

    def evolve(self, x: Tensor, graph: PreparedGraph) -> Tensor:
        """The last state, (N, d)."""
        weight = self.attention(x, graph.edge_index)
        propagation = Propagation(graph.edge_index, x.shape[0], weight, "row", x.dtype)
        for _ in range(self.num_layers):
            x = diffusion_step(x, propagation(x), STEP)
        return x
