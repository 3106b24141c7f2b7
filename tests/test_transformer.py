"""The book's small transformer: its blocks, its attention, its states."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from systems import normal
from wavy.diagnostics import layer_profile, mean_cosine
from wavy.dynamics import KINDS, MIXED_KINDS
from wavy.hosts.softmax_attention import SoftmaxAttention
from wavy.hosts.transformer import NORMS, Transformer, WavyBlock
from wavy.layers import JointLayerNorm

norms = pytest.mark.parametrize("norm", NORMS)
kinds = pytest.mark.parametrize("kind", KINDS)
exactness = pytest.mark.parametrize("exact", [False, True])


def moved(module, seed=0):
    """The module in float64 with every parameter moved off its start, so that none is trivially 0 or 1."""
    module.double()
    with torch.no_grad():
        for index, parameter in enumerate(module.parameters()):
            parameter.add_(0.3 * normal(seed + index, *parameter.shape))
    return module


def block_of(norm, kind="full", **options):
    return moved(WavyBlock(8, 2, 16, kind, norm=norm, **options))


def after_attention(block, norm, x):
    """The rest of a block, written out: mlp and LayerNorm of the state."""
    if norm == "pre":
        return x + block.mlp(block.norm2(x)[0])[0]
    x = block.norm1(x)[0]
    return block.norm2(x + block.mlp(x)[0])[0]


@pytest.mark.equation("eq-block")
@exactness
@kinds
@norms
def test_a_block_is_its_equation(norm, kind, exact):
    block = block_of(norm, kind, exact_norm=exact)
    x, memory = normal(100, 3, 5, 8), normal(101, 3, 5, 8)
    reads = F.layer_norm(x, (8,), block.norm1.weight, block.norm1.bias) if norm == "pre" else x
    x_a, y_a = block.residual(x, block.attention(reads), memory)
    found, carried = block(x, memory)
    assert torch.allclose(found, after_attention(block, norm, x_a), rtol=1e-12, atol=1e-12)
    if not block.residual.carries_velocity:
        assert (carried is None) if y_a is None else torch.equal(carried, y_a)
        return
    if norm == "pre":
        normed, y_n = block.norm2(x_a, y_a)
        expected = y_a + block.mlp(normed, y_n)[1]
    else:
        x_b, y_b = block.norm1(x_a, y_a)
        out, y_out = block.mlp(x_b, y_b)
        expected = block.norm2(x_b + out, y_b + y_out)[1]
    assert torch.allclose(carried, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.equation("eq-block")
@norms
def test_the_velocity_of_a_block_is_its_derivative_only_with_the_exact_norm(norm):
    x, memory = normal(100, 3, 5, 8), normal(101, 3, 5, 8)
    for exact in (True, False):
        block = block_of(norm, exact_norm=exact)
        x_a, y_a = block.residual(x, block.attention(block.attention_input(x)), memory)
        state, tangent = torch.func.jvp(lambda s, block=block: after_attention(block, norm, s), (x_a,), (y_a,))
        found, carried = block(x, memory)
        assert torch.allclose(found, state, rtol=1e-12, atol=1e-12)
        assert ((carried - tangent).norm() < 1e-12 * tangent.norm()) == exact


@norms
def test_at_one_half_the_stock_form_is_an_ordinary_transformer(norm):
    model = moved(Transformer(4, 6, 16, 3, 2, heads=2, mlp_dim=32, residual="diffusion", tau=0.5, norm=norm))
    tokens = normal(50, 7, 6, 4)
    x = tokens @ model.embed.weight.T + model.embed.bias + model.position
    for block in model.blocks:
        x = ordinary_layer(block, norm)(x)
    x = F.layer_norm(x, (16,), model.norm.weight, model.norm.bias)
    logits = x.mean(dim=1) @ model.head.weight.T + model.head.bias
    assert torch.allclose(model(tokens), logits, rtol=1e-12, atol=1e-12)


def ordinary_layer(block, norm):
    """PyTorch's own transformer layer with the weights of a block."""
    first = norm == "pre"
    layer = nn.TransformerEncoderLayer(16, 2, 32, 0.0, "gelu", batch_first=True, norm_first=first).double()
    attention = block.attention
    projections = (attention.query, attention.key, attention.value)
    weights = {
        f"self_attn.in_proj_{name}": torch.cat([getattr(projection, name) for projection in projections])
        for name in ("weight", "bias")
    }
    parts = {"self_attn.out_proj": attention.out, "linear1": block.mlp.fc1, "linear2": block.mlp.fc2}
    parts |= {"norm1": block.norm1, "norm2": block.norm2}
    for name, part in parts.items():
        weights |= {f"{name}.weight": part.weight, f"{name}.bias": part.bias}
    layer.load_state_dict(weights)
    return layer


@kinds
@norms
def test_every_kind_runs_forward_and_backward(norm, kind):
    model = Transformer(4, 6, 8, 3, 3, heads=2, residual=kind, norm=norm, dropout=0.2).train()
    model(torch.randn(5, 6, 4)).square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name


@pytest.mark.parametrize("kind", MIXED_KINDS)
def test_a_very_negative_theta_starts_as_diffusion(kind):
    model = moved(Transformer(4, 6, 8, 3, 3, residual=kind))
    for block in model.blocks:
        nn.init.constant_(block.residual.theta, -60)
    plain = Transformer(4, 6, 8, 3, 3, residual="diffusion").double()
    weights = {name: value for name, value in model.state_dict().items() if not name.endswith("theta")}
    plain.load_state_dict(weights)
    tokens = normal(0, 2, 6, 4)
    assert torch.allclose(model(tokens), plain(tokens), rtol=1e-12, atol=1e-12)


@pytest.mark.equation("eq-attention")
def test_attention_is_its_equation_head_by_head():
    attention = moved(SoftmaxAttention(12, heads=3))
    x = normal(7, 2, 5, 12)
    q, k, v = (linear(x).split(4, dim=-1) for linear in (attention.query, attention.key, attention.value))
    a = [torch.softmax(q[h] @ k[h].mT / math.sqrt(4), dim=-1) for h in range(3)]
    assert torch.allclose(attention.matrix(x), torch.stack(a, dim=-3), rtol=1e-12)
    joined = torch.cat([a[h] @ v[h] for h in range(3)], dim=-1)
    assert torch.allclose(attention(x), attention.out(joined), rtol=1e-12, atol=1e-12)


@norms
def test_attention_matrices_are_those_that_the_blocks_apply(norm):
    model = moved(Transformer(4, 6, 8, 3, 3, heads=2, residual="full", norm=norm, use_value=False))
    tokens = normal(3, 5, 6, 4)
    matrices, outputs = model.attention_matrices(tokens), []
    for block in model.blocks:
        block.attention.register_forward_hook(lambda _module, inputs, output: outputs.append((inputs[0], output)))
    model(tokens)
    assert len(matrices) == len(outputs) == 3
    for a, (read, ax) in zip(matrices, outputs, strict=True):
        assert a.shape == (5, 2, 6, 6)
        assert torch.allclose(a.sum(dim=-1), torch.ones(5, 2, 6).double(), rtol=1e-12)
        assert torch.allclose(a.mean(dim=1) @ read, ax, rtol=1e-12, atol=1e-12)


@kinds
def test_states_are_what_the_layer_profile_sees_and_the_memory_is_what_it_should_be(kind):
    model = moved(Transformer(4, 6, 8, 3, 3, residual=kind))
    tokens = normal(4, 5, 6, 4)
    states = model.states(tokens)
    profile = layer_profile(model, tokens)
    assert profile["cosine"].tolist() == pytest.approx([mean_cosine(x).mean().item() for x, _ in states], rel=1e-12)
    assert torch.allclose(states[0][0], model.embed(tokens) + model.position)
    memories = [memory for _, memory in states]
    assert memories[0] is None
    if kind == "diffusion":
        assert memories == [None] * 4
    elif kind in ("light", "mix_light"):
        assert all(torch.equal(memory, x) for memory, (x, _) in zip(memories[1:], states, strict=False))


def test_the_exact_norm_changes_the_velocity_first_and_the_state_one_layer_on():
    paper, exact = (Transformer(4, 6, 8, 3, 2, residual="full", exact_norm=e).double() for e in (False, True))
    exact.load_state_dict(paper.state_dict())
    tokens = normal(4, 5, 6, 4)
    (_, one, two), (_, one_exact, two_exact) = paper.states(tokens), exact.states(tokens)
    assert torch.equal(one[0], one_exact[0])
    assert not torch.allclose(one[1], one_exact[1])
    assert not torch.allclose(two[0], two_exact[0])
    assert all(isinstance(m, JointLayerNorm) and m.exact for m in (exact.blocks[0].norm1, exact.blocks[0].norm2))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: WavyBlock(8, norm="middle"), "norm: found 'middle', allowed pre, post"),
        (lambda: WavyBlock(8, heads=3), "heads: found 3, allowed a divisor of dim = 8"),
        (lambda: WavyBlock(8, residual="wave"), "residual: found 'wave'"),
        (lambda: WavyBlock(8, tau=1.0), "tau: found 1.0"),
        (lambda: WavyBlock(8, dropout=1.0), "p: found 1.0"),
        (lambda: Transformer(4, 6, 8, 3, 0), "num_layers: found 0"),
        (lambda: Transformer(4, 6, 8, 0, 2), "out_channels: found 0"),
        (lambda: WavyBlock(8, residual="full")(torch.ones(2, 5, 8), torch.ones(2, 4, 8)), "memory: found shape"),
    ],
)
def test_refuses(build, message):
    with pytest.raises(ValueError, match=message):
        build()
