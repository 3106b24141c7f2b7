"""The graph part of an operator: sparse products with a normalised adjacency matrix."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor
from torch_geometric.utils import degree

from wavy.layers.eager import by_hand
from wavy.layers.precision import at_least_single, no_autocast


class Propagation:
    """A_G X for the normalised adjacency matrix A_G of a graph, prepared once for every layer.

    An edge (j, i) of ``edge_index`` lets node i read from node j, as everywhere in PyG. Self
    loops are used where ``edge_index`` has them and are not added. Degrees count edges for
    ``"sym"``, as published, and add up weights for ``"row"``. Gradients of any order reach
    ``x`` and ``edge_weight``. Half precision is computed in single precision, for which the CPU has
    a sparse product and in which degrees are counted right.

    Args:
        edge_index: (2, E), whole numbers from 0 to N - 1.
        num_nodes: N.
        edge_weight: (E,), or ``None`` for all 1.
        norm: ``"sym"``, D^-1/2 A_G D^-1/2 (rows do not sum to 1), or ``"row"``, D^-1 A_G (row
            stochastic, but for a node that no edge reaches: its row is zero).
        dtype: of the model that the graph is prepared for.

    Raises:
        ValueError: an edge_index or edge_weight of another shape, or a node out of range.
    """

    def __init__(
        self,
        edge_index: Tensor,
        num_nodes: int,
        edge_weight: Tensor | None,
        norm: str,
        dtype: torch.dtype,
    ) -> None:
        check_graph(edge_index, num_nodes, edge_weight)
        self.num_nodes, self.norm, self.dtype = num_nodes, norm, dtype
        source, target = edge_index.long()  # in 32 bits, target * N + source below would overflow
        if edge_weight is None:
            edge_weight = torch.ones(source.numel(), device=source.device)
        normalise = _symmetric if norm == "sym" else _row_stochastic
        weight = normalise(source, target, edge_weight.to(torch.promote_types(dtype, torch.float32)), num_nodes)
        order = torch.argsort(target * num_nodes + source)
        self._target, self._source, self.weight = target[order], source[order], weight[order]

    def __call__(self, x: Tensor) -> Tensor:
        """A_G X for X of shape (N, d), in the type of X."""
        if not by_hand(x, self.weight):
            read = self.weight.unsqueeze(-1) * x[self._source]
            return torch.zeros_like(x, dtype=read.dtype).index_add(0, self._target, read).to(x.dtype)
        return _Product.apply(x, self.weight, *self._matrices)

    @cached_property
    @torch.inference_mode(False)  # they outlive the call that needs them first
    def _matrices(self) -> tuple[_Sparse, _Sparse]:
        # Both orders are kept: the gradient needs the transpose, and building it in each backward
        # pass costs more than the product.
        target, source, n, values = self._target, self._source, self.num_nodes, self.weight.detach()
        back = torch.argsort(source * n + target)
        return (
            _Sparse.build(target, source, values, n, back),
            _Sparse.build(source[back], target[back], values[back], n, torch.argsort(back)),
        )


@dataclass(frozen=True)
class _Sparse:
    """A sparse matrix by rows; ``order`` brings its values into the order of its transpose."""

    rows: Tensor
    columns: Tensor
    csr: Tensor
    order: Tensor

    @classmethod
    def build(cls, rows: Tensor, columns: Tensor, values: Tensor, n: int, order: Tensor) -> _Sparse:
        counts = torch.bincount(rows, minlength=n)
        starts = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
        with no_beta_warning():
            csr = torch.sparse_csr_tensor(starts, columns, values, (n, n), check_invariants=False)
        return cls(rows, columns, csr, order)


class _Product(torch.autograd.Function):
    """matrix @ x, differentiable in x and in the matrix's values ``weight``."""

    @staticmethod
    def forward(ctx, x: Tensor, weight: Tensor, matrix: _Sparse, transpose: _Sparse) -> Tensor:
        ctx.matrix, ctx.transpose = matrix, transpose
        ctx.save_for_backward(x, weight)
        return sparse_product(matrix.csr, x)

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[Tensor | None, Tensor | None, None, None]:
        (x, weight), matrix, transpose = ctx.saved_tensors, ctx.matrix, ctx.transpose
        grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            if torch.is_grad_enabled():  # the gradient is to be differentiated again
                grad_x = _Product.apply(grad, weight[matrix.order], transpose, matrix)
            else:
                grad_x = sparse_product(transpose.csr, grad)
        if ctx.needs_input_grad[1]:
            grad_weight = (grad[matrix.rows] * x[matrix.columns]).sum(dim=-1, dtype=weight.dtype)
        return grad_x, grad_weight, None, None


def _symmetric(source: Tensor, target: Tensor, weight: Tensor, num_nodes: int) -> Tensor:
    in_degree = degree(target, num_nodes, weight.dtype)
    # A node that no edge reaches has degree 0; its inverse counts as 0.
    inverse = torch.where(in_degree > 0, in_degree.clamp(min=1).rsqrt(), torch.zeros_like(in_degree))
    return weight * inverse[source] * inverse[target]


def _row_stochastic(source: Tensor, target: Tensor, weight: Tensor, num_nodes: int) -> Tensor:
    total = weight.new_zeros(num_nodes).index_add(0, target, weight)
    return weight / torch.where(total == 0, torch.ones_like(total), total)[target]


def sparse_product(matrix: Tensor, x: Tensor) -> Tensor:
    """A CSR matrix times a dense one, in single precision at least, which the CPU needs; in the type of ``x``."""
    dtype = at_least_single(matrix)
    with no_autocast(x):
        return torch.sparse.mm(matrix.to(dtype), x.to(dtype)).to(x.dtype)


def sparse_features(x: Tensor) -> Tensor:
    """Features (N, F) in CSR form, for which the input layer is a sparse product."""
    with no_beta_warning(), torch.sparse.check_sparse_tensor_invariants(enable=False):
        return x.to_sparse_csr()


@contextmanager
def no_beta_warning() -> Iterator[None]:
    """Without torch's warning, once a process, that CSR is in beta; what is used here is covered by tests."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        yield


def check_graph(edge_index: Tensor, num_nodes: int, edge_weight: Tensor | None = None) -> None:
    """Check edge_index (2, E) and edge_weight (E,) against the number of nodes.

    Raises:
        ValueError: an edge_index or edge_weight of another shape, or a node out of range.
    """
    whole = isinstance(edge_index, Tensor) and not (edge_index.is_floating_point() or edge_index.is_complex())
    if not whole or edge_index.dim() != 2 or edge_index.shape[0] != 2:
        found = f"{edge_index.dtype} {tuple(edge_index.shape)}" if isinstance(edge_index, Tensor) else repr(edge_index)
        raise ValueError(f"edge_index: found {found}, allowed whole numbers of shape (2, E)")
    edges = edge_index.shape[1]
    if edges and not (edge_index.min() >= 0 and edge_index.max() < num_nodes):
        low, high = edge_index.min().item(), edge_index.max().item()
        raise ValueError(f"edge_index: found nodes {low} to {high}, allowed 0 to {num_nodes - 1}")
    if edge_weight is not None and tuple(edge_weight.shape) != (edges,):
        raise ValueError(f"edge_weight: found shape {tuple(edge_weight.shape)}, allowed ({edges},)")
