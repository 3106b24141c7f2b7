"""The graph part of an operator: sparse products with a normalised adjacency matrix."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric import EdgeIndex
from torch_geometric.utils import degree


class Propagation:
    """A X for the normalised adjacency matrix of a graph, prepared once and used by every layer.

    An edge (j, i) of ``edge_index`` lets node i read from node j, as everywhere in PyG. Self loops are used where
    ``edge_index`` has them and are not added.

    Args:
        edge_index: (2, E), int64.
        num_nodes: N.
        edge_weight: (E,), or ``None`` for all 1.
        norm: ``"sym"``, D^-1/2 A D^-1/2 (rows do not sum to 1), or ``"row"``, D^-1 A (row stochastic).
        dtype: of the weights.

    Degrees count edges, not their weights, for ``"sym"``, as published; for ``"row"`` they are the sums of weights.
    """

    def __init__(
        self, edge_index: Tensor, num_nodes: int, edge_weight: Tensor | None, norm: str, dtype: torch.dtype
    ) -> None:
        source, target = edge_index[0].as_subclass(Tensor), edge_index[1].as_subclass(Tensor)
        weight = torch.ones(source.numel(), dtype=dtype, device=source.device) if edge_weight is None else edge_weight
        if norm == "sym":
            in_degree = degree(target, num_nodes, dtype)
            # A node without edges has degree 0 and no weight to scale; clamping keeps its inverse finite.
            inverse = in_degree.clamp(min=1).rsqrt() * (in_degree > 0)
            weight = weight * inverse[source] * inverse[target]
        else:
            total = torch.zeros(num_nodes, dtype=dtype, device=source.device).index_add(0, target, weight)
            weight = weight / torch.where(total == 0, torch.ones_like(total), total)[target]
        order = torch.argsort(target * num_nodes + source)
        # Stored by target row: (A X)_i sums over the sources j of i.
        rows = torch.stack([target[order], source[order]])
        self._edges = EdgeIndex(rows, sparse_size=(num_nodes, num_nodes), sort_order="row").fill_cache_()
        self._weight = weight[order]

    def __call__(self, x: Tensor) -> Tensor:
        """A X for X of shape (N, d)."""
        return self._edges.matmul(x, input_value=self._weight)
