"""A state and its velocity with the weights of an mlp and a LayerNorm, and both ways to pass them."""

from __future__ import annotations

import torch

from systems import normal
from wavy.layers import mlp_formula, mlp_pair, norm_formula, norm_pair

WIDTH, HIDDEN = 4, 6


def mlp_inputs(*shape, bias=True):
    """x, velocity, and weights and biases of two linear layers."""
    shapes = [(*shape, WIDTH), (*shape, WIDTH), (HIDDEN, WIDTH), (HIDDEN,), (WIDTH, HIDDEN), (WIDTH,)]
    drawn = [normal(seed, *s).requires_grad_() for seed, s in enumerate(shapes)]
    return drawn if bias else [None if index in (3, 5) else tensor for index, tensor in enumerate(drawn)]


def norm_inputs(*shape):
    """x, velocity, gamma, beta."""
    shapes = [(*shape, WIDTH), (*shape, WIDTH), (WIDTH,), (WIDTH,)]
    return [normal(seed, *s).requires_grad_() for seed, s in enumerate(shapes)]


def mlp(x, velocity, weight1, bias1, weight2, bias2, activation="gelu"):
    return mlp_pair(x, velocity, (weight1, bias1), (weight2, bias2), activation)


def norm(*inputs):
    return norm_pair(*inputs, 1e-5)


def plain_norm(*inputs):
    return norm_formula(*inputs, 1e-5)


def plain_mlp(*inputs):
    return mlp_formula(*inputs, "gelu")


def gradients(function, inputs, needed):
    """Of a sum with random weights, in the inputs that need one."""
    pair = function(*inputs)
    loss = sum((out * normal(9 + index, *out.shape)).sum() for index, out in enumerate(pair))
    return torch.autograd.grad(loss, [inputs[index] for index in needed])


def same(found, expected):
    return all(torch.allclose(a, b, rtol=1e-11, atol=1e-12) for a, b in zip(found, expected, strict=True))
