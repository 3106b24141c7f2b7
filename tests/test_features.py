"""The product with sparse features: its gradients, and a transpose that follows the features."""

from __future__ import annotations

import gc
import weakref

import torch

from systems import normal
from wavy.hosts import features
from wavy.hosts.features import feature_product
from wavy.hosts.propagation import sparse_features


def sparse(seed=0, nodes=6, channels=5):
    return sparse_features(normal(seed, nodes, channels).clamp(min=0.5) - 0.5)


def test_gradients_of_first_and_second_order():
    given, x = sparse(), normal(1, 5, 3).requires_grad_()
    assert torch.allclose(feature_product(given, x), given.to_dense() @ x)
    assert torch.autograd.gradcheck(lambda x: feature_product(given, x), (x,))
    assert torch.autograd.gradgradcheck(lambda x: feature_product(given, x), (x,))


def test_features_changed_in_place_are_seen_by_the_next_gradient():
    given, x = sparse(), normal(1, 5, 3).requires_grad_()
    for factor in (1, 2, -3):
        given.values().mul_(factor)
        found = torch.autograd.grad(feature_product(given, x).sum(), x)[0]
        assert torch.allclose(found, given.to_dense().T @ torch.ones(6, 3, dtype=x.dtype))


def test_the_transpose_goes_with_its_features():
    given, x = sparse(), normal(1, 5, 3).requires_grad_()
    feature_product(given, x).sum().backward()
    transpose = weakref.ref(features._TRANSPOSES[given][1])
    del given
    gc.collect()
    assert transpose() is None


def test_half_precision_and_inference_tensors():
    given, x = sparse(), normal(1, 5, 3)
    with torch.inference_mode():
        copied = given.clone()
    expected = given.to_dense() @ x
    assert torch.allclose(feature_product(copied, x), expected)
    half = x.bfloat16().requires_grad_()
    out = feature_product(given.bfloat16(), half)
    out.float().sum().backward()
    assert out.dtype == half.grad.dtype == torch.bfloat16
    assert torch.allclose(out.double(), expected, atol=0.1)
