"""The simple attention of affine queries, keys and values equals its equation, and is closer to it in rounding."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from systems import normal, seeds
from wavy.hosts.affine_attention import affine_simple_attention
from wavy.hosts.attention import simple_attention
from wavy.hosts.difformer import DIFFormerConv


def by_the_equation(x, heads, *affine):
    query, key = (F.linear(x, weight, bias).unflatten(1, (heads, -1)) for weight, bias in affine)
    return simple_attention(query, key, x.unsqueeze(1).expand(-1, heads, -1))


def drawn(seed, nodes, channels, heads):
    """A state, and the affine maps of queries and keys."""
    rows = heads * channels
    weights, biases = normal(seed + 1, 2, rows, channels), normal(seed + 2, 2, rows)
    return normal(seed, nodes, channels), [(weights[0], biases[0]), (weights[1], biases[1])]


@given(seeds, st.integers(1, 9), st.integers(1, 3))
def test_equals_the_equation_with_its_gradients(seed, nodes, heads):
    x, affine = drawn(seed, nodes, 4, heads)
    inputs = [tensor.requires_grad_() for tensor in (x, *sum(affine, ()))]
    results = [function(x, heads, *affine) for function in (affine_simple_attention, by_the_equation)]
    assert torch.allclose(*results, rtol=1e-9, atol=1e-9)
    if nodes > 1:  # one node sees itself alone, and nothing moves its attention
        weight = normal(seed + 3, *results[0].shape)
        found, expected = (torch.autograd.grad(result, inputs, weight) for result in results)
        assert all(torch.allclose(a, b, rtol=1e-7, atol=1e-7) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("heads", [1, 2])
def test_has_derivatives_of_second_order(heads):
    x, affine = drawn(0, 5, 2, heads)

    def attend(x, *tensors):
        return affine_simple_attention(x, heads, tensors[:2], tensors[2:])

    inputs = [tensor.clone().requires_grad_() for tensor in (x, *sum(affine, ()))]
    assert torch.autograd.gradcheck(attend, inputs)
    assert torch.autograd.gradgradcheck(attend, inputs)


def errors(x, affine):
    """Relative errors in single precision of result and gradients: by this form, and by the equation."""
    inputs = [x, *sum(affine, ())]

    def found(function, precision):
        own = [tensor.to(precision).requires_grad_() for tensor in inputs]
        out = function(own[0], 1, *zip(own[1::2], own[2::2], strict=True))
        return [out, *torch.autograd.grad(out, own, normal(9, *out.shape).to(precision))]

    exact = found(by_the_equation, torch.float64)
    return [
        [((a - b).norm() / b.norm()).item() for a, b in zip(found(function, torch.float32), exact, strict=True)]
        for function in (affine_simple_attention, by_the_equation)
    ]


@pytest.mark.parametrize("spread", [1.0, 1e-1, 1e-2])
@pytest.mark.parametrize("cancelled", [False, True])
def test_in_single_precision_it_is_as_close_as_the_equation(spread, cancelled):
    """Also where the nodes are nearly alike, and where the bias takes away what they share."""
    x, affine = drawn(3, 1000, 16, 1)
    x = x[0] + spread * x
    if cancelled:
        affine = [(weight, -weight @ x.mean(dim=0)) for weight, _ in affine]
    own, direct = errors(x, affine)
    assert all(a <= max(2 * b, 1e-5) for a, b in zip(own, direct, strict=True)), (own, direct)


def test_where_nodes_are_nearly_alike_only_this_form_has_gradients_in_single_precision():
    x, affine = drawn(3, 1000, 16, 1)
    own, direct = errors(x[0] + 1e-3 * x, affine)
    assert max(own) < 1e-4
    assert max(direct) > 0.1


def test_sums_over_many_nodes_keep_their_digits():
    x, affine = drawn(4, 100_000, 8, 1)
    own, _ = errors(x + 1, affine)
    assert max(own) < 1e-4, own


@pytest.mark.parametrize("use_weight", [False, True])
@pytest.mark.parametrize("heads", [1, 2])
def test_a_hooked_map_is_called(use_weight, heads):
    conv, x = DIFFormerConv(4, heads, "simple", use_weight).double(), normal(0, 6, 4)
    expected, seen = conv(x, None, None), []
    conv.Wq.register_forward_hook(lambda module, args, out: seen.append(out))
    assert torch.allclose(conv(x, None, None), expected)
    assert len(seen) == 1
    conv.Wk.register_forward_hook(lambda module, args, out: out.flip(0))
    assert not torch.allclose(conv(x, None, None), expected)
