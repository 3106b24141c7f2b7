"""Mini-batches of nodes: a graph too large for one step is cut anew each epoch, as DIFFormer's code does."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch_geometric.data import Data


def induced_batches(data: Data, size: int) -> Iterator[Data]:
    """Share the nodes out at random; each share comes as the subgraph that it induces.

    An edge between two shares is in none. One pass over the edges serves all shares.

    Args:
        data: with x (N, F), dense or sparse COO, edge_index (2, E), y and train_mask.
        size: nodes a share; the last may have fewer.

    Yields:
        Data with x, edge_index, y and train_mask of a share, its nodes in random order.
    """
    order = torch.randperm(data.num_nodes, device=data.y.device)
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order), device=order.device)
    shares = order.split(size)
    ends = place[data.edge_index]
    ends = ends[:, ends[0] // size == ends[1] // size]
    share = ends[0] // size
    edges = (ends % size)[:, share.argsort(stable=True)].split(share.bincount(minlength=len(shares)).tolist(), dim=1)
    for nodes, edge_index in zip(shares, edges, strict=True):
        x = data.x.index_select(0, nodes)
        batch = Data(x=x, edge_index=edge_index, y=data.y[nodes], train_mask=data.train_mask[nodes])
        if "metric" in data:
            batch.metric = data.metric
        yield batch
