"""transformers' BERT and GPT-2 with wavy layers: stock numbers for diffusion, the library's features for every kind."""

from __future__ import annotations

import copy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

pytest.importorskip("transformers")

from language_models import close, families, kinds, tokens
from wavy import wavify
from wavy.diagnostics import layer_profile
from wavy.diagnostics.state import mean_cosine
from wavy.dynamics import KINDS, MIXED_KINDS


@families
@pytest.mark.parametrize("train", [False, True])
def test_diffusion_is_the_stock_model_bit_for_bit(family, train):
    stock = family.make_stock().train(train)
    wavy = family.alike("diffusion", stock).train(train)
    found = []
    for model in (stock, wavy):
        torch.manual_seed(3)
        out = model(tokens(), labels=tokens(), output_hidden_states=True)
        found.append((out.loss, out.logits, *out.hidden_states))
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


@families
@kinds
def test_seed_and_names_of_the_weights_are_those_of_the_stock_model(family, kind):
    # The library initialises a model without a head on another path.
    headless = type(family.make_stock().base_model), type(family.make(kind).base_model)
    for stock_class, wavy_class in ((family.stock, family.wavy), headless):
        stock = family.make_stock(stock_class).state_dict()
        wavy = family.make(kind, wavy_class).state_dict()
        thetas = {name for name in wavy if name.endswith("residual.theta")}
        assert len(thetas) == (3 if kind in MIXED_KINDS else 0)
        assert wavy.keys() - thetas == stock.keys()
        assert all(torch.equal(wavy[name], value) for name, value in stock.items())


@families
@pytest.mark.parametrize("kind", MIXED_KINDS)
def test_very_negative_theta_is_the_stock_model(family, kind):
    stock = family.make_stock()
    assert close(family.alike(kind, stock, theta_init=-60.0)(tokens()).logits, stock(tokens()).logits)


@families
def test_kinds_differ(family):
    logits = [family.make(kind)(tokens()).logits for kind in KINDS]
    assert not any(close(a, b, 1e-3) for i, a in enumerate(logits) for b in logits[:i])


@families
@kinds
def test_hidden_states_and_attentions(family, kind):
    model = family.make(kind, attn_implementation="eager")
    seen = []
    for layer in model.layers():
        layer.register_forward_hook(lambda m, i, out: seen.append(out[0] if isinstance(out, tuple) else out))
    out = model(tokens(), output_hidden_states=True, output_attentions=True)
    assert [tuple(x.shape) for x in out.hidden_states] == [(2, 7, 16)] * 4
    assert all(torch.equal(a, b) for a, b in zip(out.hidden_states[1:-1], seen[:-1], strict=True))
    assert torch.equal(out.hidden_states[-1], model.base_model(tokens()).last_hidden_state)
    assert [tuple(a.shape) for a in out.attentions] == [(2, 2, 7, 7)] * 3
    assert all(close(a.sum(-1), torch.ones(2, 2, 7).double()) for a in out.attentions)
    assert torch.equal(model(tokens()).logits, out.logits)


@families
@kinds
def test_layer_profile_measures_the_states(family, kind):
    model = family.make(kind)
    states = model(tokens(), output_hidden_states=True).hidden_states
    profile = layer_profile(model, tokens())
    assert list(profile["tokens"]) == [7, 7, 7]
    assert close(
        torch.tensor(profile["cosine"][:2].to_numpy()), torch.stack([mean_cosine(x).mean() for x in states[1:3]])
    )


@families
@kinds
@pytest.mark.parametrize("backend", ["sdpa", "flex_attention"])
@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
def test_attention_backends_agree(family, kind, backend):
    model = family.make(kind, attn_implementation="eager").float()
    mask = torch.ones(2, 7).index_fill(1, torch.tensor([5, 6]), 0).long()
    if backend == "flex_attention" and not model._supports_flex_attn:
        pytest.skip(f"transformers has no flex attention for {family.stock.__name__}")
    # Flex attention has no gradient on CPU, and compiling it takes half a minute.
    with torch.no_grad(), torch.compiler.set_stance("force_eager"):
        eager = model(tokens(), attention_mask=mask).logits[:, :5]
        model.set_attn_implementation(backend)
        assert close(model(tokens(), attention_mask=mask).logits[:, :5], eager, 1e-5)


@families
@kinds
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_changes_no_other_token(family, kind, side):
    model, real = family.make(kind), slice(3, None) if side == "left" else slice(None, 4)
    mask = torch.zeros(2, 7, dtype=torch.long)
    mask[:, real] = 1
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    padded = [model(x, attention_mask=mask, position_ids=positions).logits for x in _paddings(mask)]
    alone = model(tokens()[:, real]).logits
    assert all(close(logits[:, real], alone) for logits in padded)


def _paddings(mask):
    return [torch.where(mask.bool(), tokens(), torch.full_like(mask, pad)) for pad in (0, 5)]


@families
@kinds
def test_inputs_embeds_are_the_tokens(family, kind):
    model = family.make(kind)
    embeds = model.get_input_embeddings()(tokens())
    assert torch.equal(model(inputs_embeds=embeds).logits, model(tokens()).logits)


@families
@kinds
def test_embeddings_resize_and_stay_tied(family, kind):
    model = family.make(kind)
    before = model(tokens()).logits
    model.resize_token_embeddings(50)
    assert model.config.vocab_size == 50
    after = model(tokens()).logits
    assert after.shape == (2, 7, 50)
    assert close(after[..., :40], before)
    assert model.get_output_embeddings().weight is model.get_input_embeddings().weight


@families
@kinds
def test_a_model_that_lost_layers(family, kind):
    model, short = family.make(kind), family.make(kind, **{"num_hidden_layers": 2})
    short.load_state_dict(model.state_dict(), strict=False)
    del model.layers()[2]
    assert torch.equal(model(tokens()).logits, short(tokens()).logits)


@families
@kinds
def test_a_model_that_was_made_deeper(family, kind):
    model, deep = family.make(kind), family.make(kind, **{"num_hidden_layers": 6})
    model.layers().extend(copy.deepcopy(model.layers()))
    deep.load_state_dict(model.state_dict())
    # No cache: the index of a copied layer in it is that of the first.
    assert torch.equal(model(tokens(), use_cache=False).logits, deep(tokens(), use_cache=False).logits)


@families
@kinds
def test_one_layer_in_all_places_is_a_model_of_equal_layers(family, kind):
    shared, apart = family.make_stock(), family.make_stock()
    for stock, copied in ((shared, lambda layer: layer), (apart, copy.deepcopy)):
        holder, name = _place(stock)
        layers = getattr(holder, name)
        setattr(holder, name, nn.ModuleList(copied(layers[0]) for _ in layers))
    options = {"use_cache": False, "output_hidden_states": True}
    expected = wavify(apart, kind)(tokens(), **options).hidden_states
    model = wavify(shared, kind)
    for again in (model, wavify(model, kind), copy.deepcopy(model)):
        found = again(tokens(), **options).hidden_states
        assert len(found) == len(expected)
        assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))
        assert len(list(again.parameters())) == len(list(shared.parameters())) + (kind in MIXED_KINDS)


@families
@kinds
def test_two_models_that_share_layers(family, kind):
    shallow, deep = family.make_stock(), family.make_stock()
    (holder, name), (other, _) = _place(shallow), _place(deep)
    setattr(holder, name, getattr(other, name)[:2])
    for order in ((shallow, deep), (deep, shallow)):
        holder = wavify(nn.ModuleList(order), kind)
        for model, plain in zip(holder, order, strict=True):
            assert torch.equal(model(tokens()).logits, wavify(plain, kind)(tokens()).logits)


def _place(stock):
    """The module that holds the layers, and its name for them."""
    base = stock.base_model
    return (base, "h") if hasattr(base, "h") else (base.encoder, "layer")


@families
@kinds
@settings(max_examples=6)
@given(batch=st.integers(0, 3), length=st.integers(1, 9))
def test_any_batch_and_length(family, kind, batch, length):
    model, ids = family.fixed(kind), tokens(batch, length)
    logits = model(ids).logits
    assert logits.shape == (batch, length, 40)
    assert all(close(model(row[None]).logits[0], one) for row, one in zip(ids, logits, strict=True))


@families
def test_options_are_checked_with_one_line(family):
    for options, message in (
        ({"residual": "x"}, "residual: found 'x', allowed diffusion, full, light, mix_full, mix_light"),
        ({"residual": 3}, "residual: found 3, allowed diffusion, full, light, mix_full, mix_light"),
        ({"tau": 1.0}, "tau: found 1.0, allowed 0 < tau < 1 (form 'stock' divides by 1 - tau)"),
        ({"tau": "a", "form": "euler"}, "tau: found 'a', allowed 0 < tau <= 1"),
        ({"theta_init": float("inf")}, "theta_init: found inf, allowed a finite number"),
        ({"form": "z"}, "form: found 'z', allowed euler, stock"),
    ):
        with pytest.raises(ValueError, match="found") as raised:
            family.wavy.config_class(**options)
        assert str(raised.value) == message
        config = family.config("light")
        for name, value in options.items():
            setattr(config, name, value)  # as from_pretrained does
        with pytest.raises(ValueError, match="found") as raised:
            family.wavy(config)
        assert str(raised.value) == message
    with pytest.raises(ValueError, match=r"^config: found .*2?Config, allowed Wavy"):
        family.wavy(family.stock_config())


@families
@kinds
def test_activations_without_ffn_v(family, kind):
    name = family.wavy.activation_field
    if kind not in ("full", "mix_full"):
        assert family.make(kind, **{name: "mish"})(tokens()).logits.isfinite().all()
        return
    with pytest.raises(ValueError, match=f"^{name}: found 'mish', allowed gelu, .* with residual {kind}$"):
        family.make(kind, **{name: "mish"})
