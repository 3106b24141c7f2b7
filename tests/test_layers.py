"""LN_v and FFN_v are forward-mode derivatives: theory of velocity LayerNorm and FFN."""

from __future__ import annotations

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


@given(seeds, widths, activations)
def test_ffn_v_is_the_derivative_of_ffn(seed, width, activation):
    mlp = drawn(JointMLP(width, 2 * width, activation), seed)
    x, y = normal(seed, 3, width), normal(seed + 9, 3, width)
    out, tangent = torch.func.jvp(lambda v: mlp(v)[0], (x,), (y,))
    joint, velocity = mlp(x, y)
    assert torch.allclose(joint, out)
    assert torch.allclose(velocity, tangent, atol=1e-10)


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


@given(seeds, widths)
def test_exact_layernorm_is_the_derivative_and_ln_v_its_first_term(seed, width):
    exact = drawn(JointLayerNorm(width, exact=True), seed)
    paper = drawn(JointLayerNorm(width), seed)
    x, y = normal(seed, 3, width), normal(seed + 9, 3, width)
    out, tangent = torch.func.jvp(lambda v: exact(v)[0], (x,), (y,))
    for norm in (exact, paper):
        assert torch.allclose(norm(x, y)[0], out)
    assert torch.allclose(exact(x, y)[1], tangent, atol=1e-9)

    scale = (x.var(dim=-1, correction=0, keepdim=True) + paper.eps).rsqrt()
    x_hat = (x - x.mean(dim=-1, keepdim=True)) * scale
    left_out = y.mean(dim=-1, keepdim=True) + x_hat * (x_hat * y).mean(dim=-1, keepdim=True)
    assert torch.allclose(paper(x, y)[1] - tangent, paper.weight * scale * left_out, atol=1e-9)


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


@pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
def test_gradients_of_the_velocity_are_right(activation):
    mlp = drawn(JointMLP(3, 5, activation), 0)
    norm = drawn(JointLayerNorm(3), 7)
    x, y = normal(1, 2, 3).requires_grad_(), normal(2, 2, 3).requires_grad_()
    assert torch.autograd.gradcheck(lambda a, b: mlp(*norm(a, b)), (x, y))


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
