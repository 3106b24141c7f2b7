"""timm's vision transformers with wavy blocks: masks, what is refused, and other residuals for a given model."""

from __future__ import annotations

import pytest
import torch

from systems import normal
from timm_kit import SCALES, SMALL, few, images, kinds, small, state, stock, timm
from wavy import wavify
from wavy.dynamics import MIXED_KINDS
from wavy.hosts.vit import WavyViTBlock

CAUSAL = torch.ones(5, 5, dtype=torch.bool).tril()
#: Four ways to say that a token attends to those before it.
MASKS = {
    "is_causal": {"is_causal": True},
    "boolean": {"attn_mask": CAUSAL},
    "added": {"attn_mask": torch.zeros(5, 5, dtype=torch.float64).masked_fill(~CAUSAL, float("-inf"))},
    "a head": {"attn_mask": CAUSAL.expand(2, 2, 5, 5)},
}


def block(kind, **options):
    torch.manual_seed(0)
    made = WavyViTBlock(6, 2, residual=kind, **SCALES | options).double().eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.normal_(0, 0.5)
    return made


@kinds
@pytest.mark.parametrize("mask", MASKS)
def test_later_tokens_do_not_change_earlier_ones(kind, mask):
    made, x = block(kind), normal(1, 2, 5, 6)
    changed = x.clone()
    changed[:, 3:] = normal(2, 2, 2, 6)
    outs = []
    for tokens in (x, changed):
        out = made(made(tokens, **MASKS[mask]), **MASKS[mask])
        outs.append(state(out))
    assert torch.allclose(outs[0][:, :3], outs[1][:, :3], atol=1e-12)
    assert not torch.allclose(outs[0][:, 3:], outs[1][:, 3:])
    first = made(x, **MASKS["is_causal"])
    assert torch.allclose(state(made(x, **MASKS[mask])), state(first), atol=1e-12)


@kinds
def test_padding_is_as_if_it_were_not_there(kind):
    made, x = block(kind), normal(1, 2, 5, 6)
    allowed = torch.tensor([True, True, True, False, False]).expand(2, 1, 1, 5)
    short = made(made(x[:, :3]))
    padded = made(made(x, attn_mask=allowed), attn_mask=allowed)
    assert torch.allclose(state(padded)[:, :3], state(short), atol=1e-12)


@kinds
def test_a_whole_model_takes_masks(kind):
    model = small("vit_tiny_patch16_224", kind, **SCALES)
    everything = torch.ones(17, 17, dtype=torch.bool)
    assert torch.allclose(model(images(), attn_mask=everything), model(images()), atol=1e-12)
    assert not torch.allclose(model(images(), is_causal=True), model(images()))


@few
@pytest.mark.parametrize("kind", MIXED_KINDS)
def test_very_negative_theta_is_the_stock_model(name, kind):
    theirs, ours = stock(name), wavify(stock(name), kind, theta_init=-60.0)
    assert torch.allclose(ours(images()), theirs(images()), atol=1e-11)


@kinds
@few
def test_wavify_is_the_registered_model_and_shares_its_weights(name, kind):
    theirs, registered = stock(name), small(name, kind)
    converted = wavify(theirs, kind).eval()
    assert type(converted) is type(registered)
    assert all(a is b for a, b in zip(theirs.parameters(), _without_theta(converted), strict=True))
    registered.load_state_dict(converted.state_dict())
    assert torch.equal(registered(images()), converted(images()))
    back = wavify(converted, "diffusion")
    assert torch.equal(back(images()), theirs(images()))


@few
def test_wavify_keeps_featscale_and_attnscale(name):
    model = small(name, "full", **SCALES)
    assert torch.equal(wavify(wavify(model, "light"), "full")(images()), model(images()))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"norm_layer": "rmsnorm"}, "residual: found 'full' with RmsNorm and Mlp, allowed LayerNorm and Mlp"),
        ({"mlp_layer": "SwiGLU"}, "residual: found 'full' with LayerNorm and SwiGLU, allowed LayerNorm and Mlp"),
        ({"attnscale": True, "attn_layer": "diff"}, "attnscale: found DiffAttention, allowed timm's Attention"),
        (
            {"attnscale": True, "scale_attn_norm": True},
            "attnscale: found Attention with norm, allowed .* without norm, gate",
        ),
        ({"features_only": True, "feature_cls": "hook"}, "found feature_cls='hook', allowed 'getter'"),
        ({"use_naflex": True}, "found arguments that build a NaFlexVit, allowed VisionTransformer or"),
        ({"tau": 1.0}, "tau: found 1.0, allowed 0 < tau < 1"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(options, message):
    if "mlp_layer" in options:
        options = {"mlp_layer": timm.layers.SwiGLU}
    with pytest.raises(ValueError, match=message):
        timm.create_model("wavy_vit_tiny_patch16_224", residual="full", **SMALL | options)


def test_blocks_of_another_class_are_refused():
    parallel = timm.models.vision_transformer.ParallelScalingBlock
    other = timm.create_model("vit_tiny_patch16_224", block_fn=parallel, **SMALL)
    with pytest.raises(ValueError, match="model: found blocks of class ParallelScalingBlock, allowed timm's Block"):
        wavify(other)


def _without_theta(model):
    return [p for name, p in model.named_parameters() if not name.endswith("theta")]
