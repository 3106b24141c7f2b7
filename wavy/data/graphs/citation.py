"""What the citation graphs have in common: undirected edges and the public split of Planetoid."""

from collections.abc import Iterable

import torch
from torch_geometric.data import Data
from torch_geometric.utils import index_to_mask

from wavy.data.graphs.edges import simple_undirected

VALIDATION_NODES = 500


def citation_graph(
    x: torch.Tensor, y: torch.Tensor, pairs: Iterable[tuple[int, int]], train_nodes: int, test_nodes: torch.Tensor
) -> Data:
    """Assemble a graph with the public split: the first nodes train, the next 500 validate, the given ones test.

    Args:
        x: Features (N, F).
        y: Classes (N,).
        pairs: Citations between nodes, in any direction; duplicates and self loops are dropped.
        train_nodes: Number of training nodes.
        test_nodes: The test nodes, in any order.

    Returns:
        x, y, edge_index (2, E) with both directions, sorted by row, and the three masks (N,).
    """
    num_nodes = len(y)
    edges = torch.tensor(list(pairs)).t().contiguous()
    data = Data(x=x, edge_index=simple_undirected(edges, num_nodes), y=y)
    data.train_mask = index_to_mask(torch.arange(train_nodes), num_nodes)
    data.val_mask = index_to_mask(torch.arange(train_nodes, train_nodes + VALIDATION_NODES), num_nodes)
    data.test_mask = index_to_mask(test_nodes, num_nodes)
    return data
