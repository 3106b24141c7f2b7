"""The form in which every graph's edges are handed on."""

import torch
from torch_geometric.utils import remove_self_loops, to_undirected


def simple_undirected(edge_index: torch.Tensor, num_nodes: int) -> torch.Tensor:
    """Return each edge once in both directions, sorted by row, without self loops.

    Args:
        edge_index: (2, E), directed or not, duplicates and self loops allowed.
        num_nodes: N, more than any node in ``edge_index``.
    """
    edge_index, _ = remove_self_loops(edge_index)
    return to_undirected(edge_index, num_nodes=num_nodes)
