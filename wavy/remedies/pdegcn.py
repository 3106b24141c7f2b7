"""PDE-GCN: a diffusion and a wave equation on the edges of a graph, with learned coefficients."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wavy.remedies.graph_model import GraphModel, PreparedGraph

#: The step h, as in the published code for graphs of this size.
STEP = 1.0
#: K starts at the identity plus noise between 0 and this.
NOISE = 1e-3


class PDEGCN(GraphModel):
    """What both forms share: the force G^T K^T relu(K G X), one learned (d, d) matrix K a layer.

    G is the gradient along the edges, (G X)_(j,i) = w_ij (x_i - x_j), with w_ij of D^-1/2 A_G D^-1/2, and G^T its
    divergence. Both directions of an edge count, as in the published code. With K = I the two relus then add up to a
    linear Laplacian, in which edge {i, j} weighs w_ij^2. Dropout acts on the force (in the code on G X).

    Source: Eliasof, Haber and Treister, *PDE-GCN*, NeurIPS 2021. K starts near I and h = 1, as in its code.
    """

    def build(self, channels: int, num_layers: int, dropout: float) -> None:
        """The matrices K."""
        start = torch.eye(channels).expand(num_layers, -1, -1)
        self.K = nn.Parameter(start + NOISE * torch.rand(num_layers, channels, channels))
        self.dropout = nn.Dropout(dropout)

    def force(self, x: Tensor, K: Tensor, graph: PreparedGraph) -> Tensor:
        """G^T K^T relu(K G X), (N, d)."""
        (source, target), weight = graph.edge_index, graph.weight.unsqueeze(-1)
        # K and G commute: K acts on channels, G on nodes. There are fewer nodes than edges.
        z = x @ K.t()
        gradient = weight * (z.index_select(0, target) - z.index_select(0, source))
        flux = weight * F.relu(gradient)
        divergence = torch.zeros_like(x).index_add(0, target, flux).index_add(0, source, flux, alpha=-1)
        return self.dropout(divergence @ K)


class PDEGCNDiffusion(PDEGCN):
    """X' = X - h G^T K^T relu(K G X), the parabolic form; see :class:`PDEGCN`."""

    def evolve(self, x: Tensor, graph: PreparedGraph) -> Tensor:
        """The last state, (N, d)."""
        for K in self.K:
            x = x - STEP * self.force(x, K, graph)
        return x


class PDEGCNWave(PDEGCN):
    """X^(l+1) = 2 X^l - X^(l-1) - h^2 G^T K^T relu(K G X^l), the hyperbolic form, from X^(-1) = X^0.

    See :class:`PDEGCN`. It is full wave without its velocity, with G^T K^T relu(K G X) in place of (I - A) X.
    """

    def evolve(self, x: Tensor, graph: PreparedGraph) -> Tensor:
        """The last state, (N, d)."""
        previous = x
        for K in self.K:
            x, previous = 2 * x - previous - STEP**2 * self.force(x, K, graph), x
        return x
