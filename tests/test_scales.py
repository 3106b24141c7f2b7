"""FeatScale and AttnScale: their definitions, their start, and what a mask makes of them."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from systems import normal
from timm_kit import SCALES, few, images, kinds, small
from wavy.hosts.scales import FeatScale, allowed_mean
from wavy.hosts.vit import Attention, scale_attention

OPTIONS = {"qkv_bias": True, "qk_norm": True, "norm_layer": nn.LayerNorm}


def attention(**options):
    torch.manual_seed(0)
    made = Attention(6, 2, **OPTIONS | options).double().eval()
    plain = Attention(6, 2, **OPTIONS | options).double().eval()
    plain.load_state_dict(made.state_dict())
    scale_attention(made)
    return made, plain


def matrix(made, x, mask=None):
    query, key, value = made.qkv(x).unflatten(-1, (3, 2, 3)).permute(2, 0, 3, 1, 4)
    logits = made.q_norm(query) @ made.k_norm(key).mT / 3**0.5
    return (logits if mask is None else logits.masked_fill(~mask, float("-inf"))).softmax(-1), value


@kinds
@few
def test_at_zero_nothing_is_changed(name, kind):
    plain, scaled = small(name, kind), small(name, kind, **SCALES)
    scaled.load_state_dict(plain.state_dict(), strict=False)
    with torch.no_grad():
        for key, parameter in scaled.named_parameters():
            parameter.zero_() if key.rpartition(".")[2].startswith("lamb") else None
    assert torch.equal(scaled(images()), plain(images()))


@pytest.mark.equation("eq-featscale")
def test_featscale_scales_the_mean_and_the_rest():
    scale, a = FeatScale(6).double(), normal(1, 2, 5, 6)
    assert torch.equal(scale(a), a)
    with torch.no_grad():
        scale.lamb1.normal_()
        scale.lamb2.normal_()
    mean = a.mean(1, keepdim=True)
    assert torch.allclose(scale(a).mean(1, keepdim=True), mean * (1 + scale.lamb1), atol=1e-12)
    assert torch.allclose(scale(a) - scale(a).mean(1, keepdim=True), (a - mean) * (1 + scale.lamb2), atol=1e-12)


@pytest.mark.equation("eq-attnscale")
@pytest.mark.parametrize("causal", [False, True])
def test_attnscale_is_its_definition_without_the_matrix(causal):
    made, _ = attention()
    with torch.no_grad():
        made.lamb.normal_()
    x, mask = normal(1, 2, 5, 6), torch.ones(5, 5, dtype=torch.bool).tril()
    a, value = matrix(made, x, mask if causal else None)
    uniform = (mask if causal else torch.ones(5, 5)).double()
    uniform = uniform / uniform.sum(-1, keepdim=True)
    scaled = uniform + (1 + made.lamb[:, None, None]) * (a - uniform)
    expected = made.proj((scaled @ value).transpose(1, 2).flatten(2))
    assert torch.allclose(made(x, is_causal=causal), expected, atol=1e-12)


def test_attnscale_starts_as_timms_attention():
    made, plain = attention(proj_drop=0.5)
    x = normal(1, 2, 5, 6)
    assert torch.equal(made(x), plain(x))
    assert torch.equal(made(x, is_causal=True), plain(x, is_causal=True))
    found = []
    for one in (made.train(), plain.train()):
        torch.manual_seed(4)
        found.append(one(x))
    assert torch.equal(*found)


def test_attention_dropout_drops_entries_of_the_scaled_matrix():
    made, _ = attention(attn_drop=0.5)
    with torch.no_grad():
        made.lamb.normal_()
    x, seen = normal(1, 2, 5, 6), []
    made.attn_drop.register_forward_hook(lambda module, inputs, output: seen.extend((inputs[0], output)))
    found = made.train()(x)
    (a, value), (whole, dropped) = matrix(made, x), seen
    assert torch.allclose(whole, 1 / 5 + (1 + made.lamb[:, None, None]) * (a - 1 / 5), atol=1e-12)
    assert torch.allclose(found, made.proj((dropped @ value).transpose(1, 2).flatten(2)), atol=1e-12)
    assert not torch.equal(whole, dropped)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_the_causal_mean_is_right_in_half_precision_too(dtype):
    x = torch.ones(1, 3000, 1, dtype=dtype)
    assert torch.equal(allowed_mean(x, is_causal=True), x)


def test_gains_in_single_precision_leave_half_precision_as_it_is():
    x = torch.ones(1, 3, 6, dtype=torch.bfloat16)
    scale = FeatScale(6)
    assert scale(x).dtype == torch.bfloat16


def test_the_mean_under_a_mask_is_over_what_it_allows():
    x = normal(1, 2, 4, 3)
    mask = torch.tensor([[1, 0, 0, 0], [0, 1, 1, 0], [1, 1, 1, 1], [1, 1, 0, 0]], dtype=torch.bool)
    found = allowed_mean(x, mask)
    assert torch.allclose(found[:, 1], x[:, 1:3].mean(1))
    assert torch.allclose(found[:, 2:3], allowed_mean(x))
    lowest = torch.zeros(4, 4, dtype=torch.float64).masked_fill(~mask, torch.finfo(torch.float64).min)
    assert torch.allclose(allowed_mean(x, lowest), found)
