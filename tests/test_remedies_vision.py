"""Vision transformers with other remedies: their equations, their start, and that they learn."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from systems import normal
from timm_kit import SMALL, images, timm
from wavy.remedies.norms import SCALE, ContraNorm
from wavy.remedies.vision import NEUTRENO, REMEDIES, NeutrenoAttention, build_vision_remedy

remedies = pytest.mark.parametrize("name", REMEDIES)


def build(name, **options):
    torch.manual_seed(0)
    return build_vision_remedy(name, **SMALL | options).double().eval()


def stock(**options):
    torch.manual_seed(0)
    return timm.models.VisionTransformer(**SMALL | options).double().eval()


@remedies
def test_gradients_reach_every_parameter(name):
    model = build(name).train()
    for parameter in model.parameters():
        parameter.data.add_(0.05 * torch.randn_like(parameter))
    (model(images()) * normal(3, 2, 5)).sum().backward()
    for label, parameter in model.named_parameters():
        assert parameter.grad.abs().max() > 0, label


@pytest.mark.parametrize("pool", ["token", "avg"])
@remedies
def test_every_image_is_classified_for_itself(name, pool):
    model, x = build(name, global_pool=pool, class_token=pool == "token"), images(3)
    assert torch.allclose(model(x)[1:2], model(x[1:2]))


@remedies
def test_it_fits_a_few_images(name):
    model, x = build(name).train(), images(6)
    y, optimizer = torch.arange(6) % 5, torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(40):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    assert (model(x).argmax(dim=1) == y).all()


def test_rezero_starts_as_the_identity():
    model, x = build("rezero"), images()
    embedded = model._pos_embed(model.patch_embed(x))
    assert torch.equal(model.blocks(embedded), embedded)


@pytest.mark.parametrize("depth", [2, 8])
def test_skipinit_has_a_factor_a_branch_that_starts_small(depth):
    model = build("skipinit", depth=depth)
    block, x = model.blocks[0], normal(0, 2, 7, SMALL["embed_dim"])
    alpha = (2 * depth) ** -0.5
    between = x + alpha * block.attn(x)
    assert torch.allclose(block(x), between + alpha * block.mlp(between))
    assert [scale.alpha.item() for scale in (block.ls1, block.ls2)] == pytest.approx([alpha] * 2)


@pytest.mark.parametrize(("depth", "start"), [(3, 0.1), (18, 0.1), (19, 1e-5), (24, 1e-5), (25, 1e-6)])
def test_layer_scale_starts_lower_where_it_is_deeper(depth, start):
    gammas = [block.ls1.gamma for block in build("layerscale", depth=depth).blocks]
    assert len(gammas) == depth
    assert all(torch.allclose(gamma, torch.full_like(gamma, start)) for gamma in gammas)


def test_attnscale_and_neutreno_start_from_timms_own():
    """AttnScale's factors start at 0, and NeuTRENO's first layer has nothing to add."""
    x = images()
    assert torch.allclose(build("attnscale")(x), stock()(x))
    assert torch.allclose(build("neutreno", depth=1)(x), stock(depth=1)(x))
    assert not torch.allclose(build("neutreno")(x), stock()(x))


def test_neutreno_adds_what_the_first_values_have_beyond_the_own():
    attention = build("neutreno").blocks[1].attn
    assert type(attention) is NeutrenoAttention
    x, heads = normal(0, 2, 7, SMALL["embed_dim"]), SMALL["num_heads"]
    query, key, value = attention.qkv(x).unflatten(-1, (3, heads, -1)).permute(2, 0, 3, 1, 4)
    first = normal(1, *value.shape)
    matrix = (query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5).softmax(dim=-1)
    expected = attention.proj((matrix @ value + NEUTRENO * (first - value)).transpose(1, 2).flatten(2))
    found, kept = attention(x, first)
    assert torch.allclose(found, expected)
    assert kept is first


def test_contranorm_stands_for_every_norm_and_works_image_by_image():
    model = build("contranorm")
    norms = [part for part in model.modules() if isinstance(part, ContraNorm)]
    assert len(norms) == 2 * SMALL["depth"] + 1
    assert sum(isinstance(part, nn.LayerNorm) for part in model.modules()) == len(norms)
    norm, x = norms[0], normal(0, 2, 3, 7, SMALL["embed_dim"])
    unit = F.normalize(x, dim=-1)
    pushed = x - SCALE * (unit @ unit.transpose(-1, -2)).softmax(dim=-1) @ x
    assert torch.allclose(norm(x), norm.norm(pushed))
    assert torch.allclose(norm(x)[1, 2], norm(x[1, 2]))


def test_an_unknown_name_is_refused():
    with pytest.raises(ValueError, match="name: found 'dropedge', allowed rezero"):
        build_vision_remedy("dropedge", 2)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("neutreno", {"qk_norm": True}, "neutreno: found Attention with q_norm, k_norm, allowed"),
        ("neutreno", {"scale_attn_norm": True}, "neutreno: found Attention with norm, allowed"),
        ("attnscale", {"scale_attn_norm": True}, "attnscale: found Attention with norm, allowed"),
        ("layerscale", {"init_values": 0.1}, "init_values: found 0.1, allowed None"),
    ],
)
def test_an_option_without_a_place_is_refused(name, options, message):
    with pytest.raises(ValueError, match=message):
        build(name, **options)
