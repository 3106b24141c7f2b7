"""norm_pair and mlp_pair are their formulas, with their gradients, and keep less for the backward pass."""

from __future__ import annotations

import pytest
import torch

from pairs_kit import HIDDEN, WIDTH, gradients, mlp, mlp_inputs, norm, norm_inputs, plain_mlp, plain_norm, same
from wavy.layers import ACTIVATIONS, mlp_formula, mlp_pair

activations = pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
biases = pytest.mark.parametrize("bias", [True, False])


def kept_numbers(function, inputs):
    """How many numbers autograd keeps beside the parameters."""
    kept, known = {}, {tensor.data_ptr() for tensor in inputs[2:]}

    def pack(tensor):
        if tensor.data_ptr() not in known:
            kept[tensor.data_ptr()] = tensor.numel()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        pair = function(*inputs)  # kept alive, so that no address is used twice
    return sum(kept.values()), pair


@pytest.mark.equation("eq-mlp-backward")
@biases
@activations
@pytest.mark.parametrize("shape", [(2, 3), (), (0, 3)])
def test_mlp_is_its_formula_with_its_gradients(activation, bias, shape):
    inputs = mlp_inputs(*shape, bias=bias)
    needed = range(6) if bias else (0, 1, 2, 4)

    def formula(*tensors):
        return mlp_formula(*tensors, activation)

    def by_hand(*tensors):
        return mlp(*tensors, activation)

    assert same(by_hand(*inputs), formula(*inputs))
    assert same(gradients(by_hand, inputs, needed), gradients(formula, inputs, needed))


@pytest.mark.parametrize("shape", [(2, 3), (), (0, 3)])
def test_norm_is_its_formula_with_its_gradients(shape):
    inputs = norm_inputs(*shape)
    assert same(norm(*inputs), plain_norm(*inputs))
    assert same(gradients(norm, inputs, range(4)), gradients(plain_norm, inputs, range(4)))


@activations
def test_frozen_weights_get_no_gradient_and_change_no_other(activation):
    inputs = mlp_inputs(2, 3)

    def by_hand(*tensors):
        return mlp(*tensors, activation)

    whole = gradients(by_hand, inputs, range(6))
    for needed in ((0, 1), (2, 3), (4, 5), (1,)):
        some = [tensor.detach().requires_grad_(index in needed) for index, tensor in enumerate(inputs)]
        assert same(gradients(by_hand, some, needed), [whole[index] for index in needed])


def test_a_velocity_or_a_state_that_nobody_reads_may_be_left_out():
    inputs = mlp_inputs(2, 3)
    for output in (0, 1):
        found, expected = (
            torch.autograd.grad(f(*inputs)[output].sum(), inputs[:3], allow_unused=True, materialize_grads=True)
            for f in (mlp, plain_mlp)
        )
        assert same(found, expected)


def test_what_is_kept_for_the_backward_pass():
    tokens, numbers = 10, mlp_inputs(10)
    kept, _ = kept_numbers(mlp, numbers)
    assert kept == tokens * (2 * WIDTH + 2 * HIDDEN)  # inputs, h and dh: neither phi(h) nor phi'(h) dh
    kept, _ = kept_numbers(norm, norm_inputs(10))
    assert kept == tokens * (2 * WIDTH + 2)  # inputs, mean and factor
    for by_hand, formula, inputs in ((mlp, plain_mlp, numbers), (norm, plain_norm, norm_inputs(10))):
        assert kept_numbers(by_hand, inputs)[0] < kept_numbers(formula, inputs)[0]


def test_dropout_within_the_mlp_has_the_gradients_of_its_formula():
    inputs = mlp_inputs(2, 3)

    def masked(f):
        def drawn(*tensors):
            torch.manual_seed(3)
            return f(*tensors)

        return gradients(drawn, inputs, range(6))

    by_hand = masked(lambda x, y, w1, b1, w2, b2: mlp_pair(x, y, (w1, b1), (w2, b2), dropout=0.5))
    assert same(by_hand, masked(lambda *tensors: mlp_formula(*tensors, "gelu", 0.5)))
