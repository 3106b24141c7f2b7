"""timm's CaiT with wavy blocks: LayerScale's small start, the class attention, AttnScale in talking heads."""

from __future__ import annotations

import pytest
import torch

from timm_kit import SCALES, SMALL, images, kinds, small, states, stock, timm
from wavy import wavify
from wavy.hosts.cait import ScaledDropout, WavyCaitBlock

NAME = "cait_xxs24_224"


@kinds
def test_a_fresh_cait_of_any_kind_starts_near_the_identity(kind):
    torch.manual_seed(0)
    model = timm.create_model(f"wavy_{NAME}", residual=kind, **SMALL | {"depth": 12}).double().eval()
    start = model.patch_embed(images()) + model.pos_embed
    assert all((x - start).abs().max() < 1e-2 * start.abs().max() for x in states(model, images()))


@kinds
def test_class_attention_is_timms_own_and_reads_the_state(kind):
    model, theirs = small(NAME, kind, **SCALES), stock(NAME)
    theirs.load_state_dict(model.state_dict(), strict=False)
    assert [type(block) for block in model.blocks_token_only] == [type(block) for block in theirs.blocks_token_only]
    tokens = states(model, images())[-1]
    expected = theirs.forward_head(theirs.norm(theirs.forward_cls(tokens)))
    assert torch.allclose(model(images()), expected, atol=1e-12)


@kinds
def test_average_pooling_and_a_pruned_head(kind):
    model = small(NAME, kind, global_pool="avg")
    assert model(images()).shape == (2, 5)
    model.prune_intermediate_layers(2, prune_norm=True)
    last = states(model, images())[-1]
    assert torch.equal(model(images()), last)


def test_attnscale_in_talking_heads_keeps_the_row_sums():
    torch.manual_seed(0)
    a = torch.randn(2, 3, 4, 4, dtype=torch.float64)
    dropout = ScaledDropout(0.0, 3).double()
    assert torch.equal(dropout(a), a)
    with torch.no_grad():
        dropout.lamb.copy_(torch.tensor([0.5, -1.0, 2.0]))
    scaled = dropout(a)
    assert torch.allclose(scaled.sum(-1), a.sum(-1), atol=1e-12)
    deviation, before = scaled - scaled.mean(-1, keepdim=True), a - a.mean(-1, keepdim=True)
    assert torch.allclose(deviation, before * torch.tensor([1.5, 0.0, 3.0])[:, None, None], atol=1e-12)


def test_attnscale_of_a_softmax_is_the_definition():
    torch.manual_seed(0)
    a = torch.randn(2, 3, 4, 4, dtype=torch.float64).softmax(-1)
    dropout = ScaledDropout(0.0, 3).double()
    with torch.no_grad():
        dropout.lamb.normal_()
    lamb = dropout.lamb[:, None, None]
    assert torch.allclose(dropout(a), 1 / 4 + (1 + lamb) * (a - 1 / 4), atol=1e-12)


def test_attention_dropout_comes_after_attnscale():
    dropout = ScaledDropout(0.5, 1).double().train()
    with torch.no_grad():
        dropout.lamb.fill_(1.0)
    a = torch.rand(1, 1, 40, 40, dtype=torch.float64)
    dropped, whole = dropout(a), dropout.eval()(a)
    kept = dropped != 0
    assert torch.allclose(dropped[kept], 2 * whole[kept])
    assert 0.4 < kept.double().mean() < 0.6


def test_what_does_not_fit_is_refused_by_name():
    other = timm.create_model(NAME, block_layers=_OtherBlock, **SMALL)
    with pytest.raises(ValueError, match="model: found blocks of class _OtherBlock, allowed timm's LayerScaleBlock"):
        wavify(other)
    with pytest.raises(ValueError, match="attnscale: found _OtherAttention, allowed timm's TalkingHeadAttn"):
        WavyCaitBlock(6, 2, attnscale=True, attn_block=_OtherAttention)


class _OtherBlock(timm.models.cait.LayerScaleBlock):
    pass


class _OtherAttention(timm.models.cait.TalkingHeadAttn):
    pass
