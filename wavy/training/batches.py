"""Mini-batches of nodes: a graph too large for one step is cut anew each epoch, as DIFFormer's code does."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch_geometric.data import Data

from wavy.checks import check_whole


def induced_batches(data: Data, size: int) -> Iterator[Data]:
    """Share the nodes out at random; each share comes as the subgraph that it induces.

    An edge between two shares is in none. One pass over the edges serves all shares.

    Args:
        data: with x (N, F), dense or sparse COO, edge_index (2, E), y and train_mask.
        size: nodes a share; the last may have fewer.

    Raises:
        ValueError: a size that is not a whole number >= 1.

    Yields:
        Data with x, edge_index, y and train_mask of a share, its nodes in random order.
    """
    check_whole("size", size)
    order = torch.randperm(data.num_nodes, device=data.y.device)
    shares = order.split(size)
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order), device=order.device)
    share = (place // size).int()  # of each node; the smaller type makes the one pass over all edges quicker
    source, target = data.edge_index
    edges = data.edge_index[:, share[source] == share[target]]
    by_share = share[edges[0]].argsort(stable=True)
    counts = share[edges[0]].bincount(minlength=len(shares)).tolist()
    edges = (place[edges[:, by_share]] % size).split(counts, dim=1)
    for nodes, edge_index in zip(shares, edges, strict=True):
        x = data.x.index_select(0, nodes)
        yield Data(x=x, edge_index=edge_index, y=data.y[nodes], train_mask=data.train_mask[nodes])
