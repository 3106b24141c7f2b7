"""DropEdge: another part of the graph in every training step."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch_geometric.utils import dropout_edge, segregate_self_loops

from wavy.hosts.difformer import DIFFormer
from wavy.hosts.propagation import Propagation

#: Probability that an edge is dropped, PyG's default. The paper tunes it for each data set.
RATE = 0.5


@dataclass(frozen=True)
class DroppableGraph:
    """A graph to draw edges from.

    Attributes:
        whole: all of it, prepared for the model.
        edges: (2, E), those that may be dropped.
        loops: (2, N), the self loops.
        num_nodes: N.
    """

    whole: Propagation
    edges: Tensor
    loops: Tensor
    num_nodes: int


class DropEdge(nn.Module):
    """DIFFormer whose graph part loses each edge with probability ``RATE`` in every training step.

    What is left is normalised anew, so each step prepares a graph. Each direction of an edge is drawn for itself, as
    the paper draws entries of the adjacency matrix; self loops stay. Attention is left alone. In eval mode the graph is
    whole.

    Args:
        model: the model.

    Shapes:
        As those of the model; no edge weights.

    Source: Rong et al., *DropEdge*, ICLR 2020.
    """

    def __init__(self, model: DIFFormer) -> None:
        super().__init__()
        self.model = model

    def propagation(self, edge_index: Tensor, num_nodes: int, edge_weight: Tensor | None = None) -> DroppableGraph:
        """The graph, to be passed as ``graph`` where it is used more than once."""
        if edge_weight is not None:
            raise ValueError("edge_weight: found a tensor, allowed None: this model takes graphs without weights")
        whole = self.model.propagation(edge_index, num_nodes)
        edges, _, loops, _ = segregate_self_loops(edge_index)
        return DroppableGraph(whole, edges, loops, num_nodes)

    def forward(self, x: Tensor, graph: Tensor | DroppableGraph) -> Tensor:
        """Class logits, (N, C)."""
        if isinstance(graph, Tensor):
            graph = self.propagation(graph, x.shape[0])
        if not isinstance(graph, DroppableGraph):
            raise ValueError(f"graph: found {type(graph).__name__}, allowed an edge_index or a DroppableGraph")
        if graph.num_nodes != x.shape[0]:
            raise ValueError(f"graph: found one of {graph.num_nodes} nodes, allowed {x.shape[0]}, as x has")
        if not self.training:
            return self.model(x, graph.whole)
        kept, _ = dropout_edge(graph.edges, RATE)
        return self.model(x, torch.cat([kept, graph.loops], dim=1))
