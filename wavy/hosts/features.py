"""The first layer's product with sparse features, whose transpose is made once and not in every backward pass."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx
from torch.utils.weak import WeakTensorKeyDictionary

from wavy.hosts.propagation import sparse_product
from wavy.layers.eager import by_hand, needs_graph

#: Features -> their version and their transpose. It lives as long as they do.
_TRANSPOSES = WeakTensorKeyDictionary()


def feature_product(features: Tensor, x: Tensor) -> Tensor:
    """Sparse features times a dense matrix; gradients of any order reach the latter.

    Args:
        features: (N, F), CSR.
        x: (F, d).

    Returns:
        (N, d), in the type of ``x``.
    """
    learns = features.requires_grad or features.is_inference()
    if learns or not needs_graph(x) or not by_hand(x):
        return sparse_product(features, x)
    return _Product.apply(features, x)


def feature_linear(linear: nn.Linear, features: Tensor) -> Tensor:
    """A linear layer of features (N, F), dense or CSR."""
    if features.layout == torch.strided:
        return linear(features)
    return feature_product(features, linear.weight.t()) + linear.bias


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, features: Tensor, x: Tensor) -> Tensor:
        ctx.features = features
        return sparse_product(features, x)

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[None, Tensor]:
        return None, feature_product(_transpose(ctx.features), grad)


def _transpose(features: Tensor) -> Tensor:
    version, found = _TRANSPOSES.get(features, (None, None))
    if version != features._version:  # made for the first time, or changed in place
        version, found = features._version, features.t().to_sparse_csr()
        _TRANSPOSES[features] = version, found
    return found
