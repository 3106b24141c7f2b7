"""norm_pair and mlp_pair compute the same as their formulas in every mode of torch."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from pairs_kit import WIDTH, mlp, mlp_inputs, norm, norm_inputs, plain_mlp, plain_norm, same
from wavy.layers import ACTIVATIONS
from wavy.layers.activations import curvature

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


@both
def test_a_velocity_made_of_the_state_has_its_gradient_once(function, formula, inputs):
    z = inputs[0]

    def gradient(f, create_graph):
        velocity = 2 * z
        pair = f(z + velocity**2, velocity, *inputs[2:])
        loss = pair[0].sin().sum() + pair[1].square().sum()
        return torch.autograd.grad(loss, [z, *inputs[2:3]], create_graph=create_graph)

    expected = gradient(formula, False)
    assert same(gradient(function, False), expected)
    assert same(gradient(function, True), expected)


def test_what_does_not_fit_is_named():
    x, *rest = mlp_inputs(3)
    with pytest.raises(ValueError, match="activation: found 'tanh', allowed gelu, gelu_tanh, relu, silu"):
        mlp(x, *rest, activation="tanh")
    for function, inputs in ((mlp, mlp_inputs(3)), (norm, norm_inputs(3))):
        with pytest.raises(ValueError, match=r"velocity: found shape \(4,\), allowed that of x, \(3, 4\)"):
            function(inputs[0], inputs[1][0], *inputs[2:])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_curvature_is_finite_wherever_the_activation_is(activation, dtype):
    h = torch.tensor([0.0, 1, 5, 15, 22.5, 100, 300, 2e4], dtype=dtype)
    found = curvature(activation, torch.cat([h, -h]))
    assert found.dtype == dtype
    assert torch.isfinite(found).all()
    precise = curvature(activation, torch.cat([h, -h]).double())
    assert torch.allclose(found.double(), precise, rtol=0.01, atol=1e-3)
