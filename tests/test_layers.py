"""LN_v and FFN_v are forward-mode derivatives: theory of velocity LayerNorm and FFN."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from systems import normal, seeds
from wavy.layers import ACTIVATIONS, JointDropout, JointLayerNorm, JointMLP

widths = st.integers(2, 9)
activations = st.sampled_from(sorted(ACTIVATIONS))


def drawn(module, seed):
    """The module in float64 with every parameter drawn at random."""
    module.double()
    with torch.no_grad():
        for index, parameter in enumerate(module.parameters()):
            parameter.copy_(normal(seed + index, *parameter.shape))
    return module


@pytest.mark.equation("eq-ffn-velocity")
@given(seeds, widths, activations)
def test_ffn_v_is_the_derivative_of_ffn(seed, width, activation):
    mlp = drawn(JointMLP(width, 2 * width, activation), seed)
    x, y = normal(seed, 3, width), normal(seed + 9, 3, width)
    out, tangent = torch.func.jvp(lambda v: mlp(v)[0], (x,), (y,))
    joint, velocity = mlp(x, y)
    phi, prime = ACTIVATIONS[activation]
    hidden = x @ mlp.fc1.weight.T + mlp.fc1.bias
    formula = prime(y @ mlp.fc1.weight.T, hidden) @ mlp.fc2.weight.T
    assert torch.allclose(joint, out, rtol=1e-12, atol=1e-12)
    assert torch.allclose(joint, phi(hidden) @ mlp.fc2.weight.T + mlp.fc2.bias, rtol=1e-12, atol=1e-12)
    for expected in (tangent, formula):
        assert torch.allclose(velocity, expected, rtol=1e-12, atol=1e-12 * (1 + expected.abs().max().item()))


@pytest.mark.parametrize("activation", [name for name in sorted(ACTIVATIONS) if name != "relu"])
def test_difference_quotients_reach_ffn_v_in_their_order(activation):
    mlp = drawn(JointMLP(4, 8, activation), 1)
    x, y = normal(2, 3, 4), normal(3, 3, 4)
    exact = mlp(x, y)[1]

    def errors(step):
        ahead, here, behind = (mlp(x + sign * step * y)[0] for sign in (1, 0, -1))
        one_sided, central = (ahead - here) / step, (ahead - behind) / (2 * step)
        return [(found - exact).norm().item() for found in (one_sided, central)]

    orders = [math.log2(large / small) for large, small in zip(errors(2e-4), errors(1e-4), strict=True)]
    assert orders == pytest.approx([1, 2], abs=0.02)


@given(seeds, activations)
def test_ffn_v_is_the_derivative_under_dropout_too(seed, activation):
    mlp = drawn(JointMLP(4, 8, activation, dropout=0.4), seed).train()
    x, y = normal(seed, 5, 4), normal(seed + 9, 5, 4)

    def frozen_masks(v, velocity=None):
        torch.manual_seed(seed)
        return mlp(v, velocity)

    joint, velocity = frozen_masks(x, y)
    step = 1e-6
    difference = (frozen_masks(x + step * y)[0] - frozen_masks(x - step * y)[0]) / (2 * step)
    assert torch.allclose(joint, frozen_masks(x)[0])
    if activation != "relu":  # a kink within the step has no derivative
        assert torch.allclose(velocity, difference, atol=1e-5)


@pytest.mark.equation("eq-ln-velocity", "eq-ln-derivative")
@given(seeds, widths)
def test_exact_layernorm_is_the_derivative_and_ln_v_its_first_term(seed, width):
    exact, paper = drawn(JointLayerNorm(width, exact=True), seed), drawn(JointLayerNorm(width), seed)
    x, y = normal(seed, 3, width), normal(seed + 9, 3, width)
    out, tangent = torch.func.jvp(lambda v: exact(v)[0], (x,), (y,))
    scale = (x.var(dim=-1, correction=0, keepdim=True) + paper.eps).rsqrt()
    x_hat = (x - x.mean(dim=-1, keepdim=True)) * scale
    left_out = y.mean(dim=-1, keepdim=True) + x_hat * (x_hat * y).mean(dim=-1, keepdim=True)
    first = paper.weight * scale * y
    # Rounding is relative to the terms, which may cancel: with two channels nothing is left of them.
    bound = 1e-12 * (1 + first.abs().max().item()) * (1 + scale.max().item())
    for norm in (exact, paper):
        assert torch.allclose(norm(x, y)[0], out, rtol=0, atol=bound)
    assert torch.allclose(paper(x, y)[1], first, rtol=0, atol=bound)
    assert torch.allclose(exact(x, y)[1], tangent, rtol=0, atol=bound)
    assert torch.allclose(exact(x, y)[1], first - paper.weight * scale * left_out, rtol=0, atol=bound)


@given(seeds, st.integers(3, 9))
def test_the_exact_velocity_is_tangent_to_the_sphere_and_ln_v_is_off_by_the_rest(seed, width):
    exact, paper = (JointLayerNorm(width, eps=1e-30, exact=e).double() for e in (True, False))
    x, y = normal(seed, 5, width), normal(seed + 9, 5, width)
    x_hat, tangent = exact(x, y)
    whole = paper(x, y)[1]
    length = whole.norm(dim=-1)
    assert torch.all(tangent.sum(dim=-1).abs() < 1e-12 * length)
    assert torch.all((x_hat * tangent).sum(dim=-1).abs() < 1e-12 * length)
    mean, radial = y.mean(dim=-1) * math.sqrt(width), (x_hat * y).sum(dim=-1) / math.sqrt(width)
    share = (mean**2 + radial**2) / y.square().sum(dim=-1)
    assert torch.allclose((tangent.norm(dim=-1) / length) ** 2, 1 - share, rtol=0, atol=1e-12)


def test_layernorm_is_blind_to_shifts_and_lengths_and_ln_v_is_not():
    exact, paper = JointLayerNorm(6, eps=1e-30, exact=True).double(), JointLayerNorm(6, eps=1e-30).double()
    x = normal(0, 4, 6)
    for y in (torch.ones_like(x), x - x.mean(dim=-1, keepdim=True)):
        assert exact(x, y)[1].abs().max() < 1e-12
        assert paper(x, y)[1].norm(dim=-1).min() > 0.1


def test_without_velocity_they_are_the_ordinary_layers():
    x = normal(0, 2, 5, 8)
    norm, plain = drawn(JointLayerNorm(8), 1), drawn(torch.nn.LayerNorm(8), 1)
    assert torch.equal(norm(x)[0], plain(x))
    assert norm(x)[1] is None
    assert plain.state_dict().keys() == norm.state_dict().keys()
    assert JointMLP(8, 16).double()(x)[1] is None


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("exact", [False, True])
def test_half_precision_neither_overflows_nor_loses_constant_tokens(dtype, exact):
    norm = JointLayerNorm(64, eps=1e-12, exact=exact)
    x = (300 * normal(0, 3, 64)).to(dtype)
    x[1] = 5
    y = normal(1, 3, 64).to(dtype)
    expected_x, expected_y = norm(x.float(), y.float())
    half_x, half_y = norm.to(dtype)(x, y)
    assert half_x.dtype == half_y.dtype == dtype
    assert torch.allclose(half_x.float(), expected_x, atol=0.05)
    rows = [0, 2]  # a constant token has no finite derivative
    assert torch.allclose(half_y.float()[rows], expected_y[rows], rtol=0.02, atol=1e-4)
    assert expected_y[rows].abs().max() > 1e-3


def test_a_velocity_of_another_shape_is_refused():
    x = torch.ones(3, 4)
    for module in (JointLayerNorm(4), JointDropout(0.5), JointMLP(4, 8)):
        for shape in ((3, 1), (4,), (2, 3, 4)):
            with pytest.raises(ValueError, match="velocity: found shape"):
                module(x, torch.ones(shape))


def test_dropout_shares_one_mask_and_rests_in_eval_mode():
    x, y = torch.ones(50, 50), 2 * torch.ones(50, 50)
    drop = JointDropout(0.5)
    kept, kept_velocity = drop(x, y)
    assert torch.equal(2 * kept, kept_velocity)
    assert 0.4 < (kept == 0).float().mean() < 0.6
    assert drop.eval()(x, y) == (x, y)
    torch.manual_seed(0)
    alone, _ = drop.train()(x)
    torch.manual_seed(0)
    assert torch.equal(alone, drop(x, y)[0])


@torch.no_grad()
def test_separate_masks_break_the_chain_rule_by_the_root_of_2p():
    mlp, p = drawn(JointMLP(400, 16), 2).train(), 0.1
    mlp.drop2.p = p
    x, y = normal(0, 1000, 400), normal(1, 1000, 400)

    def masked(seed, function, *inputs):
        torch.manual_seed(seed)
        return function(*inputs)

    exact = masked(0, torch.func.jvp, lambda v: mlp(v)[0], (x,), (y,))[1]
    shared, separate = (masked(seed, mlp, x, y)[1] for seed in (0, 1))
    assert (shared - exact).norm() < 1e-12 * exact.norm()
    assert ((separate - exact).norm() / exact.norm()).item() == pytest.approx(math.sqrt(2 * p), rel=0.02)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
def test_gradients_of_the_velocity_are_right(activation, exact):
    mlp = drawn(JointMLP(3, 5, activation), 0)
    norm = drawn(JointLayerNorm(3, exact=exact), 7)
    x, y = normal(1, 2, 3).requires_grad_(), normal(2, 2, 3).requires_grad_()

    def layer(a, b):
        return mlp(*norm(a, b))

    assert torch.autograd.gradcheck(layer, (x, y))
    assert torch.autograd.gradgradcheck(layer, (x, y))


def test_forward_mode_of_forward_mode_and_compilation_work():
    layer = torch.nn.ModuleList([drawn(JointLayerNorm(4), 0), drawn(JointMLP(4, 8), 5)])
    x, y = normal(1, 3, 4), normal(2, 3, 4)

    def velocity(a):
        return layer[1](*layer[0](a, y))[1]

    step = 1e-5
    tangent = torch.func.jvp(velocity, (x,), (y,))[1]
    assert torch.allclose(tangent, (velocity(x + step * y) - velocity(x - step * y)) / (2 * step), atol=1e-6)
    compiled = torch.compile(velocity, fullgraph=True, backend="eager")
    assert torch.allclose(compiled(x), velocity(x), rtol=1e-12)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: JointLayerNorm(0), "dim: found 0"),
        (lambda: JointMLP(4, -1), "hidden_dim: found -1"),
        (lambda: JointMLP(4, 8, "tanh"), "activation: found 'tanh', allowed gelu, gelu_tanh, relu, silu"),
        (lambda: JointMLP(4, 8, dropout=1.0), "p: found 1.0, allowed 0 <= p < 1"),
    ],
)
def test_refuses(build, message):
    with pytest.raises(ValueError, match=message):
        build()
