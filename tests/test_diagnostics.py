"""The measures against their definitions written as double loops, the reference vectors, and their limits."""

from __future__ import annotations

import pytest
import timm
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from transformers import BertConfig, BertForMaskedLM

from systems import normal, row_stochastic, seeds, symmetric, taus
from wavy.diagnostics import (
    attention_energy,
    class_variances,
    dirichlet_energy,
    effective_rank,
    layer_profile,
    mean_cosine,
    node_variance,
    relative_residual,
    spectral_gap,
    token_cosines,
    token_deviations,
)
from wavy.dynamics import shadow_energy, wave_step
from wavy.hosts.difformer import DIFFormer

shapes = st.tuples(st.integers(1, 2), st.integers(2, 7), st.integers(1, 5))


@given(seeds, shapes)
@pytest.mark.equation("eq-cosine", "eq-dirichlet")
def test_cosine_and_dirichlet_equal_their_pairwise_definitions(seed, shape):
    x = normal(seed, *shape)
    n = shape[1]
    cosines = torch.cosine_similarity(x[:, :, None], x[:, None, :], dim=-1)
    off_diagonal = (cosines.sum(dim=(1, 2)) - n) / (n * (n - 1))
    assert torch.allclose(mean_cosine(x), off_diagonal, atol=1e-12)
    distances = (x[:, :, None] - x[:, None, :]).square().sum(dim=-1)
    assert torch.allclose(dirichlet_energy(x), distances.mean(dim=(1, 2)))


@given(seeds, shapes)
@pytest.mark.equation("eq-token-deviation", "eq-token-cosine")
def test_measures_of_the_tokens_have_those_of_the_state_as_means(seed, shape):
    x = normal(seed, *shape)
    assert torch.allclose(2 * token_deviations(x).mean(dim=-1), dirichlet_energy(x))
    assert torch.allclose(token_cosines(x).mean(dim=-1), mean_cosine(x), atol=1e-12)
    first_pairs = torch.cosine_similarity(x[:, :1], x[:, 1:], dim=-1)
    assert torch.allclose(token_cosines(x)[:, 0], first_pairs.mean(dim=-1), atol=1e-12)


@given(seeds, shapes, st.floats(-3, 3))
@pytest.mark.equation("eq-relative-residual")
def test_relative_residual_is_a_distance_to_equal_tokens_without_a_scale(seed, shape, offset):
    x = normal(seed, *shape) + offset
    means = x.mean(dim=1, keepdim=True).expand_as(x)
    expected = torch.linalg.matrix_norm(x - means) / torch.linalg.matrix_norm(x)
    assert torch.allclose(relative_residual(x), expected)
    assert torch.allclose(relative_residual(1e-30 * x.float()), expected.float(), rtol=1e-4)
    assert torch.allclose(relative_residual(x - means), torch.ones(shape[0], dtype=x.dtype))
    assert relative_residual(means).max() < 1e-12
    assert relative_residual(torch.zeros(4, 3)).item() == 0


@given(seeds, shapes)
@pytest.mark.equation("eq-residual-cosine")
def test_for_tokens_of_one_length_residual_and_cosine_say_the_same(seed, shape):
    x = 3 * torch.nn.functional.normalize(normal(seed, *shape), dim=-1)
    n = shape[1]
    assert torch.allclose(relative_residual(x) ** 2, (1 - 1 / n) * (1 - mean_cosine(x)))


def test_equals_the_reference_vectors(golden):
    reference = golden("diagnostics")
    h, a = reference.H.transpose(0, 1), reference.A.transpose(0, 1)
    assert torch.allclose(mean_cosine(h).mean(dim=1), reference.cosine_mean, rtol=1e-9)
    assert torch.allclose(dirichlet_energy(h).mean(dim=1)[1:], reference.dirichlet, rtol=1e-9)
    for tau, expected in ((1.0, reference.avg_energy_tau1), (0.5, reference.avg_energy_tau05)):
        energy = attention_energy(h[:-1], h[1:], a[:-1], tau).mean(dim=1)
        assert torch.allclose(energy, expected, rtol=1e-9)


@pytest.mark.parametrize(("spread", "uncentred_error"), [(1e-3, 1e-3), (1e-4, 1e-1)])
@pytest.mark.equation("eq-dirichlet")
def test_nearly_equal_tokens_keep_their_digits_in_single_precision(spread, uncentred_error):
    x = (1 + spread * normal(0, 100, 16)).float()
    exact = x.double()
    assert dirichlet_energy(x).item() == pytest.approx(dirichlet_energy(exact).item(), rel=1e-3)
    assert (1 - mean_cosine(exact)).item() > 0
    uncentred = 2 * (x.square().sum() / 100 - x.mean(dim=0).square().sum()).item()
    assert abs(uncentred / dirichlet_energy(exact).item() - 1) > uncentred_error


@pytest.mark.parametrize("size", [1e-40, 1e-30, 1e-25, 1e25, 1e37])
def test_cosine_of_tiny_and_huge_states(size):
    x = normal(0, 50, 5)
    assert mean_cosine((x * size).float()).item() == pytest.approx(mean_cosine(x).item(), abs=1e-3)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_does_not_overflow(dtype):
    x = (5 * normal(0, 128, 768)).to(dtype)
    for measure in (mean_cosine, dirichlet_energy, node_variance, relative_residual, effective_rank):
        assert measure(x).item() == pytest.approx(measure(x.double()).item(), rel=1e-3, abs=1e-4)


def test_profile_restores_every_mode_and_hooks_shared_blocks_once():
    block = nn.Linear(4, 4)
    frozen = nn.Dropout(0.5).eval()
    model = nn.Sequential(block, frozen, block, block).train()
    frozen.eval()
    profile = layer_profile(model, torch.ones(3, 4), blocks=[block, block, block])
    assert len(profile) == 3
    assert (model.training, frozen.training, block.training) == (True, False, True)


def test_a_token_of_norm_zero_has_cosine_zero_with_all():
    x = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    assert mean_cosine(x).item() == pytest.approx(2 / 6)
    assert mean_cosine(torch.zeros(3, 2)).item() == pytest.approx(0)


@given(seeds, shapes)
@pytest.mark.equation("eq-variance", "eq-class-variance")
def test_class_variances_add_up(seed, shape):
    x = normal(seed, *shape)
    labels = torch.arange(shape[1]) % 3 * 5
    between, within = class_variances(x, labels)
    assert torch.allclose(between + within, node_variance(x))
    assert torch.allclose(node_variance(x), x.var(dim=1, correction=0).mean(dim=-1))
    means = torch.stack([x[:, labels == c].mean(dim=1) for c in labels.tolist()], dim=1)
    assert torch.allclose(between, node_variance(means))


@given(seeds, st.integers(1, 5))
@pytest.mark.equation("eq-effective-rank")
def test_effective_rank_of_equal_singular_values_is_their_number(seed, rank):
    q = torch.linalg.qr(normal(seed, 8, rank)).Q
    assert effective_rank(q).item() == pytest.approx(rank)
    assert effective_rank(torch.ones(4, 3)).item() == pytest.approx(1, rel=1e-5)
    assert effective_rank(torch.zeros(4, 3)).item() == 0


@pytest.mark.equation("eq-gap")
def test_spectral_gap_of_known_matrices():
    for n in (5, 48, 49, 100):
        assert spectral_gap(torch.full((n, n), 1 / n)).item() == pytest.approx(1, abs=1e-5)
    assert spectral_gap(torch.eye(4)).item() == pytest.approx(0)
    a = symmetric(0, 6)
    second = torch.linalg.eigvalsh(a).abs().sort().values[-2]
    general = row_stochastic(0, 7)
    moduli = torch.linalg.eigvals(general).abs().sort().values
    assert spectral_gap(general).item() == pytest.approx(1 - moduli[-2].item())
    assert spectral_gap(torch.stack([a, a])).tolist() == pytest.approx([1 - second.item()] * 2)


@given(seeds)
@pytest.mark.equation("eq-attention-energy")
def test_attention_energy_is_its_double_sum(seed):
    x, x_next, a = normal(seed, 5, 3), normal(seed + 1, 5, 3), row_stochastic(seed, 5)
    potential = (a * (x[:, None] - x[None]).square().sum(dim=-1)).sum()
    kinetic = ((x - x_next) / 0.5).square().sum()
    assert torch.allclose(attention_energy(x, x_next, a, 0.5), potential + kinetic)


@given(seeds, taus)
@pytest.mark.equation("eq-published-energy")
def test_attention_energy_of_a_wave_with_symmetric_attention_is_not_twice_the_shadow_energy(seed, tau):
    a, x, y = symmetric(seed, 5), normal(seed, 5, 3), normal(seed + 1, 5, 3)
    lx = x - a @ x
    x_next, y_next = wave_step(x, y, a @ x, tau)
    rest = ((x - tau * y_next) * lx).sum()
    expected = 2 * shadow_energy(x, y, a @ x, tau) + rest
    assert torch.allclose(attention_energy(x, x_next, a, tau), expected, rtol=1e-10)


def test_profile_of_a_difformer_has_a_row_a_state_and_leaves_the_model_alone():
    net = DIFFormer(4, 8, 2, num_layers=5, residual="full", dropout=0.5).train()
    x, edges, labels = normal(0, 9, 4).float(), torch.tensor([[0, 1], [1, 0]]), torch.arange(9) % 2
    profile = layer_profile(net, x, edges, labels=labels)
    assert profile.layer.tolist() == list(range(6))
    assert net.training
    assert not any(module._forward_hooks for module in net.modules())
    assert torch.allclose(
        torch.tensor(profile.between_class + profile.within_class), torch.tensor(profile.node_variance)
    )
    states = []
    handle = net.convs[3].register_forward_pre_hook(lambda module, inputs: states.append(inputs[0]))
    net.eval()(x, edges)
    handle.remove()
    assert profile.dirichlet_energy[3] == pytest.approx(dirichlet_energy(states[0]).item(), rel=1e-5)


def test_profile_of_any_model_with_a_block_list():
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
    profile = layer_profile(encoder, normal(0, 2, 6, 8).float())
    assert profile.module.tolist() == [f"layers.{i}" for i in range(4)]
    assert (profile.tokens == 6).all()
    chosen = layer_profile(encoder, normal(0, 2, 6, 8).float(), blocks=[encoder.layers[2]])
    assert chosen.cosine[0] == pytest.approx(profile.cosine[2], rel=1e-5)


def test_profile_of_timm_and_transformers_models_finds_their_layers():
    vit = timm.create_model("vit_tiny_patch16_224", img_size=32, patch_size=16, depth=2, num_classes=3)
    profile = layer_profile(vit, normal(0, 2, 3, 32, 32).float())
    assert profile.module.tolist() == ["blocks.0", "blocks.1"]
    assert (profile.tokens == 5).all()
    config = BertConfig(vocab_size=20, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16)
    profile = layer_profile(BertForMaskedLM(config), input_ids=torch.arange(12).view(2, 6))
    assert profile.module.tolist() == ["bert.encoder.layer.0", "bert.encoder.layer.1"]
    assert (profile.tokens == 6).all()


def test_profile_is_not_misled_by_a_longer_head():
    blocks = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))
    head = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks, self.head = blocks, head

        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return self.head(x)

    assert layer_profile(Model(), torch.ones(3, 4)).module.tolist() == ["blocks.0", "blocks.1"]


def test_refusals():
    with pytest.raises(ValueError, match=r"x: found shape \(1, 3\), allowed .* N >= 2"):
        mean_cosine(torch.zeros(1, 3))
    with pytest.raises(ValueError, match=r"x: found shape \(1, 3\), allowed .* N >= 2"):
        token_cosines(torch.zeros(1, 3))
    with pytest.raises(ValueError, match=r"x: found shape \(3,\), allowed .* N >= 1"):
        token_deviations(torch.zeros(3))
    with pytest.raises(ValueError, match=r"labels: found shape \(2,\), allowed \(4,\)"):
        class_variances(torch.zeros(4, 3), torch.zeros(2, dtype=torch.long))
    with pytest.raises(ValueError, match="attention: found shape"):
        spectral_gap(torch.zeros(3, 4))
    with pytest.raises(ValueError, match="attention: found 3 tokens, allowed those of x, 4"):
        attention_energy(torch.zeros(4, 2), torch.zeros(4, 2), torch.eye(3), 0.5)
    with pytest.raises(ValueError, match=r"blocks: found None and no list of layers"):
        layer_profile(nn.Linear(3, 3), torch.zeros(4, 3))


def test_layer_profile_sees_a_state_before_the_model_overwrites_it():
    class Overwriting(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(nn.Identity() for _ in range(3))

        def forward(self, x):
            x = x.clone()
            for layer in self.layers:
                x = layer(x).mul_(2)
            return x

    energies = layer_profile(Overwriting(), normal(0, 5, 4))["dirichlet_energy"]
    assert (energies / energies[0]).tolist() == pytest.approx([1, 4, 16])
