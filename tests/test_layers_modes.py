"""norm_pair and mlp_pair compute the same as their formulas in every mode of torch."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from pairs_kit import WIDTH, mlp, mlp_inputs, norm, norm_inputs, plain_mlp, plain_norm, same

both = pytest.mark.parametrize(
    ("function", "formula", "inputs"),
    [(mlp, plain_mlp, mlp_inputs(2, 3)), (norm, plain_norm, norm_inputs(2, 3))],
    ids=["mlp", "norm"],
)


@both
def test_gradients_of_gradients(function, formula, inputs):
    def loss(f, x):
        (first,) = torch.autograd.grad(f(x, *inputs[1:])[1].square().sum(), x, create_graph=True)
        return torch.autograd.grad(first.square().sum(), [x, *inputs[2:3]])

    x = inputs[0]
    assert same(loss(function, x), loss(formula, x))
    assert torch.autograd.gradgradcheck(function, inputs)


@both
def test_function_transforms(function, formula, inputs):
    x, *rest = (tensor.detach() for tensor in inputs)

    def results(f):
        def energy(a):
            return f(a, *rest)[1].square().sum()

        def of_one(a, y):
            return f(a, y, *rest[1:])[1].square().sum()

        curve = torch.func.jvp(lambda a: torch.func.jvp(lambda b: f(b, *rest)[1], (a,), (x,))[1], (x,), (x,))[1]
        each = torch.func.vmap(torch.func.grad(of_one))(x, rest[0])
        with torch.no_grad():
            batched = torch.func.vmap(lambda a, y: f(a, y, *rest[1:])[1])(x, rest[0])
        return curve, torch.func.hessian(energy)(x), each, batched

    assert same(results(function), results(formula))


@both
def test_forward_mode(function, formula, inputs):
    assert torch.autograd.gradcheck(function, inputs, check_forward_ad=True)


@both
def test_without_autograd_nothing_of_the_caller_is_overwritten(function, formula, inputs):
    before = [tensor.detach().clone() for tensor in inputs]
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            assert same(function(*inputs), formula(*inputs))
            assert all(torch.equal(a, b) for a, b in zip(inputs, before, strict=True))


@both
def test_autocast_trains_in_the_precision_of_the_parameters(function, formula, inputs):
    single = [tensor.detach().float().requires_grad_() for tensor in inputs]
    exact = torch.autograd.grad(sum(out.sum() for out in formula(*single)), single)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        pair = function(*single)
    found = torch.autograd.grad(sum(out.float().sum() for out in pair), single)
    for own, expected in zip(found, exact, strict=True):
        assert own.dtype == torch.float32
        assert (own - expected).norm() < 0.03 * expected.norm() + 1e-3


@both
def test_compilers_see_the_formula(function, formula, inputs):
    compiled = torch.compile(function, backend="eager", fullgraph=True)
    assert same(compiled(*inputs), formula(*inputs))


def test_checkpointing_changes_no_gradient():
    layer = nn.Linear(WIDTH, WIDTH).double()

    def gradient(checkpointed):
        x, y, *rest = mlp_inputs(2, 3)

        def both(a, b):
            return mlp(layer(a), b, *rest)

        pair = torch.utils.checkpoint.checkpoint(both, x, y, use_reentrant=False) if checkpointed else both(x, y)
        return torch.autograd.grad((pair[0] + pair[1].square()).sum(), [x, y, *rest, *layer.parameters()])

    assert same(gradient(True), gradient(False))
