"""BERT and GPT-2 as decoders with wavy layers: causality, caches, generation, cross attention."""

from __future__ import annotations

import inspect

import pytest
import torch

pytest.importorskip("transformers")

from language_models import GPT2, close, decoders, kinds, tokens
from wavy.dynamics import KINDS, MIXED_KINDS

CROSS = {"add_cross_attention": True, "attn_implementation": "eager"}


@decoders
@kinds
def test_later_tokens_never_change_earlier_logits(family, kind):
    model, ids = family.make(kind), tokens()
    changed = torch.cat([ids[:, :4], 42 - ids[:, 4:]], dim=1)
    logits, after = model(ids).logits, model(changed).logits
    assert close(logits[:, :4], after[:, :4])
    assert not close(logits[:, 4:], after[:, 4:], 1e-3)
    states = [model(x, output_hidden_states=True).hidden_states for x in (ids, changed)]
    assert all(close(a[:, :4], b[:, :4]) for a, b in zip(*states, strict=True))


@decoders
@kinds
@pytest.mark.parametrize("cross", [False, True])
def test_steps_with_a_cache_give_the_logits_of_one_pass(family, kind, cross):
    model, ids = family.make(kind, **CROSS if cross else {}), tokens()
    inputs = {"encoder_hidden_states": _encoded(5)} if cross else {}
    # The cache is the output's second entry; its name differs between versions of the library.
    name = {"cache", "past_key_values"} & set(inspect.signature(model.forward).parameters)
    whole, cache, steps = model(ids, **inputs).logits, None, []
    for part in ids.split([3, 1, 1, 2], dim=1):
        logits, cache = model(part, use_cache=True, **{name.copy().pop(): cache}, **inputs).to_tuple()[:2]
        steps.append(logits)
    assert close(torch.cat(steps, dim=1), whole)


@decoders
@kinds
@pytest.mark.parametrize("search", [{}, {"num_beams": 3}], ids=["greedy", "beams"])
def test_generation_with_a_cache_is_that_without(family, kind, search):
    model = family.make(kind)
    mask = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
    options = {"max_new_tokens": 5, "min_new_tokens": 5, "do_sample": False, "attention_mask": mask, **search}
    options |= {"pad_token_id": 0, "return_dict_in_generate": True, "output_scores": True}
    found = [model.generate(tokens(2, 5), use_cache=use_cache, **options) for use_cache in (True, False)]
    assert torch.equal(found[0].sequences, found[1].sequences)
    assert all(close(a, b) for a, b in zip(found[0].scores, found[1].scores, strict=True))
    assert len({tuple(row.tolist()) for row in found[0].sequences[:, 5:]}) == 2


@decoders
@pytest.mark.parametrize("kind", ["diffusion", *MIXED_KINDS])
def test_cross_attention_keeps_the_residual_of_the_stock_model(family, kind):
    stock = family.make_stock(**CROSS)
    model = family.alike(kind, stock, theta_init=-60.0, **CROSS)
    inputs = {"encoder_hidden_states": _encoded(5), "input_ids": tokens()}
    assert close(model(**inputs).logits, stock(**inputs).logits, 1e-10 if kind != "diffusion" else 0.0)


@decoders
@kinds
@pytest.mark.parametrize("length", [1, 4, 7, 9])
def test_cross_attention_to_any_number_of_tokens(family, kind, length):
    model, encoded = family.make(kind, **CROSS), _encoded(length)
    out = model(tokens(), encoder_hidden_states=encoded, output_attentions=True)
    assert [tuple(a.shape) for a in out.cross_attentions] == [(2, 2, 7, length)] * 3
    assert not close(out.logits, model(tokens(), encoder_hidden_states=encoded + 1).logits, 1e-3)
    # Padded tokens of the other sequence change nothing.
    longer = torch.cat([encoded, torch.ones(2, 2, 16).double()], dim=1)
    mask = torch.cat([torch.ones(2, length), torch.zeros(2, 2)], dim=1).long()
    assert close(model(tokens(), encoder_hidden_states=longer, encoder_attention_mask=mask).logits, out.logits)


@kinds
def test_generation_with_cross_attention(kind):
    model = GPT2.make(kind, **CROSS)
    options = {"max_new_tokens": 4, "min_new_tokens": 4, "do_sample": False, "encoder_hidden_states": _encoded(5)}
    found = [model.generate(tokens(2, 3), use_cache=use_cache, **options) for use_cache in (True, False)]
    assert torch.equal(*found)


@decoders
def test_tokens_to_attend_to_need_cross_attention(family):
    model = family.make("light")
    with pytest.raises(ValueError, match=r"^encoder_hidden_states: found a tensor, allowed None without config"):
        model(tokens(), encoder_hidden_states=_encoded(5))


@decoders
def test_kinds_differ_with_cross_attention(family):
    encoded = _encoded(5)
    logits = [family.make(kind, **CROSS)(tokens(), encoder_hidden_states=encoded).logits for kind in KINDS]
    assert not any(close(a, b, 1e-3) for i, a in enumerate(logits) for b in logits[:i])


def _encoded(length):
    return torch.randn(2, length, 16, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
