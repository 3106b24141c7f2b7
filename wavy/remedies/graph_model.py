"""What the graph models have in common: the call, the input layer, the readout, the prepared graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.utils import to_torch_csr_tensor

from wavy.checks import check_whole
from wavy.hosts.propagation import check_graph, no_beta_warning
from wavy.remedies.embedding import Embedding


@dataclass(frozen=True)
class PreparedGraph:
    """A graph that is used more than once.

    An edge (j, i) lets node i read from node j. Self loops are those of ``edge_index``; none are added.

    Attributes:
        edge_index: (2, E).
        weight: (E,), of D^-1/2 A_G D^-1/2, in the order of the edges.
        adjacency: the same matrix in CSR form, (N, N), which PyG's layers take in place of ``edge_index``.
    """

    edge_index: Tensor
    weight: Tensor
    adjacency: Tensor

    @property
    def num_nodes(self) -> int:
        """N."""
        return self.adjacency.shape[0]

    @property
    def dtype(self) -> torch.dtype:
        """Of the model that the graph is prepared for."""
        return self.weight.dtype


def prepare(edge_index: Tensor, num_nodes: int, dtype: torch.dtype) -> PreparedGraph:
    """Normalise a graph once for all layers.

    Raises:
        ValueError: an edge_index of another shape, or a node out of range.
    """
    check_graph(edge_index, num_nodes)
    edge_index, weight = gcn_norm(edge_index, None, num_nodes, add_self_loops=False, dtype=dtype)
    with no_beta_warning(), torch.sparse.check_sparse_tensor_invariants(enable=False):
        adjacency = to_torch_csr_tensor(edge_index.flip(0), weight, size=(num_nodes, num_nodes))
    return PreparedGraph(edge_index, weight, adjacency)


class GraphModel(nn.Module):
    """A node classifier, ``model(x, graph) -> logits``: input layer, L layers, readout.

    A subclass makes its layers in :meth:`build` and says in :meth:`evolve` how the state passes them.

    Args:
        in_channels: features F of a node.
        hidden_channels: channels d of the state.
        out_channels: classes C.
        num_layers: layers L between the input layer and the readout.
        dropout: probability.

    Shapes:
        - **input:** x (N, F), dense or sparse CSR; graph: edge_index (2, E) with the self loops that are wanted, or
          what :meth:`propagation` prepared.
        - **output:** logits (N, C).

    Raises:
        ValueError: a size that is not a whole number >= 1, edge weights, which these models do not take, an edge_index
            that fits no graph of N nodes, or a graph prepared for another model or size.
    """

    #: The class of what :meth:`propagation` returns.
    prepared_as: ClassVar[type] = PreparedGraph

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, num_layers: int, dropout: float = 0.0
    ) -> None:
        super().__init__()
        for name in ("in_channels", "hidden_channels", "out_channels", "num_layers"):
            check_whole(name, locals()[name])
        self.embedding = Embedding(in_channels, hidden_channels, dropout)
        self.build(hidden_channels, num_layers, dropout)
        self.readout = nn.Linear(hidden_channels, out_channels)

    def build(self, channels: int, num_layers: int, dropout: float) -> None:
        """Make the layers."""
        raise NotImplementedError

    def evolve(self, x: Tensor, graph: PreparedGraph) -> Tensor:
        """The last state from the first one, both (N, d)."""
        raise NotImplementedError

    def propagation(self, edge_index: Tensor, num_nodes: int, edge_weight: Tensor | None = None) -> PreparedGraph:
        """The graph, to be passed as ``graph`` where it is used more than once."""
        if edge_weight is not None:
            raise ValueError("edge_weight: found a tensor, allowed None: this model takes graphs without weights")
        return prepare(edge_index, num_nodes, self.readout.weight.dtype)

    def forward(self, x: Tensor, graph: Tensor | PreparedGraph) -> Tensor:
        """Class logits, (N, C)."""
        return self.readout(self.evolve(self.embedding(x), self.prepared(graph, x.shape[0])))

    def prepared(self, graph: Tensor | PreparedGraph, num_nodes: int) -> PreparedGraph:
        """The graph as :meth:`evolve` takes it."""
        if isinstance(graph, Tensor):
            return self.propagation(graph, num_nodes)
        found = type(graph), getattr(graph, "num_nodes", None), getattr(graph, "dtype", None)
        if found != (allowed := (self.prepared_as, num_nodes, self.readout.weight.dtype)):
            raise ValueError(f"graph: found one prepared as {found}, allowed (class, nodes, type) {allowed}")
        return graph
