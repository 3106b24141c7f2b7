"""The wavy blocks of timm's models: their equations, drop path, LayerScale, gradients, masks."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.func import jvp

from systems import normal
from timm_kit import kinds, lively, state, timm
from wavy.dynamics import KINDS
from wavy.hosts.cait import WavyCaitBlock
from wavy.hosts.timm_layers import mlp_pair
from wavy.hosts.vit import WavyViTBlock
from wavy.residual import Residual

BLOCKS = {"vit": WavyViTBlock, "cait": WavyCaitBlock}
blocks = pytest.mark.parametrize("host", BLOCKS)
velocity_kinds = pytest.mark.parametrize("kind", ["full", "mix_full"])


def make(host, kind, dim=6, heads=2, scales=True, init_values=0.3, **options):
    torch.manual_seed(0)
    options |= {"residual": kind, "featscale": scales, "attnscale": scales, "init_values": init_values}
    return lively(BLOCKS[host](dim, heads, **options).double().eval())


def pair(kind, *shape):
    """A state, with a memory where the kind has one."""
    x, memory = normal(1, *shape), normal(2, *shape)
    return x if kind == "diffusion" else (x, memory)


def gammas(block):
    return (block.ls1.gamma, block.ls2.gamma) if hasattr(block, "ls1") else (block.gamma_1, block.gamma_2)


@kinds
@blocks
def test_a_block_is_residual_then_mlp_and_its_derivative(host, kind):
    block, given_pair = make(host, kind), pair(kind, 2, 5, 6)
    x, memory = given_pair if isinstance(given_pair, tuple) else (given_pair, None)
    gamma1, gamma2 = gammas(block)
    x, memory = block.residual(x, block.featscale(block.attn(block.norm1(x))), memory, gamma1)
    if kind in ("full", "mix_full"):
        scale = torch.rsqrt(x.var(-1, correction=0, keepdim=True) + block.norm2.eps)
        along = block.norm2.weight * scale * memory
        memory = memory + gamma2 * jvp(block.mlp, (block.norm2(x),), (along,))[1]
    x = x + gamma2 * block.mlp(block.norm2(x))
    out = block(given_pair)
    assert torch.allclose(state(out), x, atol=1e-12)
    assert isinstance(out, torch.Tensor) if memory is None else torch.allclose(out[1], memory, atol=1e-12)
    block.last = True
    assert torch.allclose(block(given_pair), x, atol=1e-12)


@velocity_kinds
@blocks
def test_without_a_velocity_mlp_the_velocity_passes_the_mlp_as_it_is(host, kind):
    block, whole = make(host, kind, velocity_mlp=False), make(host, kind)
    x, velocity = pair(kind, 2, 5, 6)
    state_after, kept = block((x, velocity))
    gamma = gammas(block)[0]
    assert torch.equal(kept, block.residual(x, block.featscale(block.attn(block.norm1(x))), velocity, gamma)[1])
    assert torch.equal(state_after, whole((x, velocity))[0])
    assert not torch.allclose(kept, whole((x, velocity))[1])


@pytest.mark.parametrize("kind", ["diffusion", "light", "mix_light"])
@blocks
def test_a_kind_without_velocity_has_no_velocity_mlp_to_leave_out(host, kind):
    with pytest.raises(ValueError, match=f"velocity_mlp: found False for '{kind}', allowed True"):
        make(host, kind, velocity_mlp=False)


@kinds
@blocks
def test_layer_scale_of_zero_starts_every_kind_as_the_identity(host, kind):
    block, x = make(host, kind), normal(1, 2, 5, 6)
    with torch.no_grad():
        for gamma in gammas(block):
            gamma.zero_()
    out = block(x)
    assert torch.allclose(state(out), x, atol=1e-14)
    again = block(out)
    assert torch.allclose(state(again), x, atol=1e-14)


@kinds
@blocks
@pytest.mark.parametrize("form", ["stock", "euler"])
def test_drop_path_leaves_a_skipped_layer_as_it_is(host, kind, form):
    block, inputs = make(host, kind, drop_path=1 - 1e-9, form=form).train(), pair(kind, 4, 5, 6)
    out = block(inputs)
    x, memory = inputs if isinstance(inputs, tuple) else (inputs, None)
    assert torch.equal(state(out), x)
    if kind in ("full", "mix_full"):
        assert torch.equal(out[1], memory)


@blocks
@velocity_kinds
def test_drop_path_skips_state_and_velocity_together(host, kind):
    block, (x, velocity) = make(host, kind, scales=False, drop_path=0.7).train(), pair(kind, 64, 3, 6)
    x_after, velocity_after = block((x, velocity))
    skipped = (x_after == x).all(dim=-1).all(dim=-1)
    assert torch.equal(skipped, (velocity_after == velocity).all(dim=-1).all(dim=-1))
    assert 0 < skipped.sum() < 64


@kinds
@blocks
def test_gradients_are_right(host, kind):
    block, inputs = make(host, kind, dim=4), pair(kind, 1, 3, 4)
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    weights = tuple(p.detach().requires_grad_() for p in block.parameters() if p.dim() == 1)
    names = [name for name, p in block.named_parameters() if p.dim() == 1]

    def run(*arguments):
        state_and_memory, vectors = arguments[: len(inputs)], arguments[len(inputs) :]
        x = state_and_memory if len(inputs) > 1 else state_and_memory[0]
        return torch.func.functional_call(block, dict(zip(names, vectors, strict=True)), (x,))

    assert torch.autograd.gradcheck(run, (*(x.requires_grad_() for x in inputs), *weights))


class OtherMlp(timm.layers.Mlp):
    def forward(self, x):
        return -super().forward(x)


class OtherNorm(torch.nn.LayerNorm):
    def forward(self, x):
        return -super().forward(x)


class OtherReLU(torch.nn.ReLU):
    def forward(self, x):
        return -super().forward(x)


class OtherDropout(torch.nn.Dropout):
    def forward(self, x):
        return -super().forward(x)


def set_forward(part):
    part.forward = torch.neg


CHANGES = {
    "OtherMlp": lambda block: setattr(block, "mlp", OtherMlp(6)),
    "OtherNorm": lambda block: setattr(block, "norm2", OtherNorm(6)),
    "OtherReLU": lambda block: setattr(block.mlp, "act", OtherReLU()),
    "OtherDropout as mlp.drop1": lambda block: setattr(block.mlp, "drop1", OtherDropout()),
    "LayerNorm as mlp.norm": lambda block: setattr(block.mlp, "norm", torch.nn.LayerNorm(24)),
    "a forward set on norm2": lambda block: set_forward(block.norm2),
    "a forward set on mlp,": lambda block: set_forward(block.mlp),
    "a forward set on mlp.act": lambda block: set_forward(block.mlp.act),
    "a forward set on mlp.fc1": lambda block: set_forward(block.mlp.fc1),
    "a forward set on mlp.fc2": lambda block: set_forward(block.mlp.fc2),
}


@kinds
@blocks
@pytest.mark.parametrize("found", CHANGES)
def test_parts_that_a_velocity_would_pass_by_are_refused(host, kind, found):
    block = make(host, "diffusion")
    CHANGES[found](block)
    residual = Residual(6, kind)
    if residual.carries_velocity:
        with pytest.raises(ValueError, match=f"found .*{found}.* allowed"):
            block.set_residual(residual)
        assert block.residual.kind == "diffusion"
    else:
        block.set_residual(residual)


@velocity_kinds
@blocks
@pytest.mark.parametrize("part", ["mlp", "mlp.act"])
def test_hooks_that_a_velocity_would_pass_by_are_refused(host, kind, part):
    block, inputs = make(host, kind), pair(kind, 2, 5, 6)
    expected = block(inputs)
    hooks = [
        block.get_submodule(part).register_forward_hook(lambda *_: None),
        block.get_submodule(part).register_forward_pre_hook(lambda *_: None),
    ]
    for hook in hooks:
        with pytest.raises(ValueError, match=f"{part}: found hooks or a forward set on it, allowed none"):
            block(inputs)
        hook.remove()
    assert all(torch.equal(*both) for both in zip(block(inputs), expected, strict=True))


@velocity_kinds
@blocks
@pytest.mark.parametrize("activation", ["GELU", "GELUTanh", "Swish"])
def test_a_velocity_passes_timms_own_activations(host, kind, activation):
    block = make(host, "diffusion")
    block.mlp.act = getattr(timm.layers, activation)()
    block.set_residual(Residual(6, kind).double())
    x, velocity = pair(kind, 2, 5, 6)
    along = jvp(block.mlp, (x,), (velocity,))
    assert all(torch.allclose(*both, atol=1e-12) for both in zip(mlp_pair(block.mlp, x, velocity), along, strict=True))


@settings(max_examples=25)
@given(
    host=st.sampled_from(sorted(BLOCKS)),
    kind=st.sampled_from(KINDS),
    batch=st.integers(0, 3),
    tokens=st.integers(1, 6),
    heads=st.integers(1, 3),
    width=st.integers(1, 4),
    seed=st.integers(0, 1000),
)
def test_the_order_of_tokens_and_the_batch_do_not_matter(host, kind, batch, tokens, heads, width, seed):
    dim = heads * width
    block, inputs = make(host, kind, dim, heads), pair(kind, batch, tokens, dim)
    order = torch.randperm(tokens, generator=torch.Generator().manual_seed(seed))
    both = inputs if isinstance(inputs, tuple) else (inputs,)
    pick = tuple if len(both) > 1 else next
    out = block(inputs)
    outs = out if isinstance(out, tuple) else (out,)
    assert all(o.shape == (batch, tokens, dim) for o in outs)
    permuted = block(pick(x[:, order] for x in both))
    assert torch.allclose(state(permuted), outs[0][:, order], atol=1e-10)
    for row in range(batch):
        alone = block(pick(x[row : row + 1] for x in both))
        assert torch.allclose(state(alone), outs[0][row : row + 1], atol=1e-10)
