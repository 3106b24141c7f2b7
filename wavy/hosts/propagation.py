"""The graph part of an operator: sparse products with a normalised adjacency matrix."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor
from torch_geometric.utils import degree


class Propagation:
    """A_G X for the normalised adjacency matrix A_G of a graph, prepared once and used by every layer.

    An edge (j, i) of ``edge_index`` lets node i read from node j, as everywhere in PyG. Self loops are used where
    ``edge_index`` has them and are not added. Degrees count edges for ``"sym"``, as published, and add up weights for
    ``"row"``. Gradients reach ``x`` and ``edge_weight``.

    Args:
        edge_index: (2, E), int64.
        num_nodes: N.
        edge_weight: (E,), or ``None`` for all 1.
        norm: ``"sym"``, D^-1/2 A_G D^-1/2 (rows do not sum to 1), or ``"row"``, D^-1 A_G (row stochastic).
        dtype: of the weights.
    """

    def __init__(
        self, edge_index: Tensor, num_nodes: int, edge_weight: Tensor | None, norm: str, dtype: torch.dtype
    ) -> None:
        source, target = edge_index
        weight = torch.ones(source.numel(), dtype=dtype, device=source.device) if edge_weight is None else edge_weight
        normalise = _symmetric if norm == "sym" else _row_stochastic
        weight = normalise(source, target, weight, num_nodes)
        order = torch.argsort(target * num_nodes + source)
        self.edges, self.weight = torch.stack([target[order], source[order]]), weight[order]
        # Both orders are kept: the gradient needs the transpose, and building it in each backward pass costs more.
        self.matrix = _csr(self.edges, self.weight.detach(), num_nodes)
        order = torch.argsort(self.edges[1] * num_nodes + self.edges[0])
        self.transpose = _csr(self.edges.flip(0)[:, order], self.weight.detach()[order], num_nodes)

    def __call__(self, x: Tensor) -> Tensor:
        """A_G X, normalised, for X of shape (N, d)."""
        return _Product.apply(x, self.weight, self)


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor, weight: Tensor, propagation: Propagation) -> Tensor:
        ctx.propagation = propagation
        ctx.save_for_backward(x if weight.requires_grad else None)
        return propagation.matrix @ x

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[Tensor, Tensor | None, None]:
        (x,) = ctx.saved_tensors
        target, source = ctx.propagation.edges
        grad_weight = None if x is None else (grad[target] * x[source]).sum(dim=-1)
        return ctx.propagation.transpose @ grad, grad_weight, None


def _symmetric(source: Tensor, target: Tensor, weight: Tensor, num_nodes: int) -> Tensor:
    in_degree = degree(target, num_nodes, weight.dtype)
    # A node that no edge reaches has degree 0; its inverse counts as 0.
    inverse = torch.where(in_degree > 0, in_degree.clamp(min=1).rsqrt(), torch.zeros_like(in_degree))
    return weight * inverse[source] * inverse[target]


def _row_stochastic(source: Tensor, target: Tensor, weight: Tensor, num_nodes: int) -> Tensor:
    total = torch.zeros(num_nodes, dtype=weight.dtype, device=weight.device).index_add(0, target, weight)
    return weight / torch.where(total == 0, torch.ones_like(total), total)[target]


def _csr(edges: Tensor, weight: Tensor, num_nodes: int) -> Tensor:
    """CSR matrix from edges (row, column) sorted by row."""
    counts = torch.bincount(edges[0], minlength=num_nodes)
    starts = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    with _no_beta_warning():
        return torch.sparse_csr_tensor(starts, edges[1], weight, (num_nodes, num_nodes), check_invariants=False)


def sparse_features(x: Tensor) -> Tensor:
    """Features (N, F) in CSR form, for which the input layer is a sparse product."""
    with _no_beta_warning(), torch.sparse.check_sparse_tensor_invariants(enable=False):
        return x.to_sparse_csr()


@contextmanager
def _no_beta_warning() -> Iterator[None]:
    # torch warns once a process that CSR is in beta; the products used here are covered by this package's tests.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        yield
