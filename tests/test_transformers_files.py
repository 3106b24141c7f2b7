"""Checkpoints of the wavy language models, and stock ones made wavy: files, Auto classes, wavify."""

from __future__ import annotations

import inspect
import pickle

import pytest
import torch

transformers = pytest.importorskip("transformers")

from safetensors.torch import load_file  # noqa: E402
from transformers.utils import output_capturing  # noqa: E402

from language_models import BERT, DECODER, GPT2, close, families, kinds, tokens  # noqa: E402
from wavy import wavify  # noqa: E402
from wavy.dynamics import MIXED_KINDS  # noqa: E402
from wavy.hosts import bert  # noqa: E402
from wavy.hosts.transformers_models import WAVY_CLASSES  # noqa: E402

HEADS = {
    stock: (wavy, BERT if "Bert" in stock.__name__ else GPT2)
    for stock, wavy in WAVY_CLASSES.items()
    if stock is not wavy
}
AUTOS = [
    getattr(transformers, f"AutoModel{task}")
    for task in (
        "",
        "ForMaskedLM",
        "ForPreTraining",
        "ForCausalLM",
        "ForSequenceClassification",
        "ForQuestionAnswering",
        "ForTokenClassification",
        "ForMultipleChoice",
        "ForNextSentencePrediction",
    )
]
heads = pytest.mark.parametrize("head", HEADS, ids=lambda head: head.__name__)


def same_weights(a, b):
    pairs = zip(a.state_dict().items(), b.state_dict().items(), strict=True)
    return all(name == other and torch.equal(x, y) for (name, x), (other, y) in pairs)


@families
@kinds
@pytest.mark.parametrize("shard", ["1GB", "10KB"])
def test_a_saved_model_is_the_same_model(family, kind, shard, tmp_path):
    model = family.make(kind, theta_init=-2.0, tau=0.3)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter)
    model.save_pretrained(tmp_path, max_shard_size=shard)
    files = sorted(tmp_path.glob("*.safetensors"))
    assert len(files) > 1 if shard == "10KB" else len(files) == 1
    names = [name for file in files for name in load_file(file)]
    assert sum(name.endswith("residual.theta") for name in names) == (3 if kind in MIXED_KINDS else 0)
    for load in (family.wavy.from_pretrained, _auto(family).from_pretrained):
        again, found = load(tmp_path, output_loading_info=True)
        assert type(again) is family.wavy
        assert not any(found.values())
        assert (again.config.residual, again.config.tau, again.config.theta_init) == (kind, 0.3, -2.0)
        # Weights read from a file lie elsewhere in memory, so that products may round differently.
        assert same_weights(again, model)
        assert close(again(tokens()).logits, model(tokens()).logits)
    assert torch.equal(pickle.loads(pickle.dumps(model))(tokens()).logits, model(tokens()).logits)


def _auto(family):
    return transformers.AutoModelForMaskedLM if family is BERT else transformers.AutoModelForCausalLM


@families
@kinds
def test_a_stock_checkpoint_loads_into_any_kind(family, kind, tmp_path):
    stock = family.make_stock()
    stock.save_pretrained(tmp_path)
    options = {"residual": kind, "theta_init": -60.0, "tau": 0.5}
    model, found = family.wavy.from_pretrained(tmp_path, output_loading_info=True, **options)
    thetas = [name for name, _ in model.named_parameters() if name.endswith("residual.theta")]
    assert found["missing_keys"] == set(thetas)
    assert not found["unexpected_keys"]
    assert not found["mismatched_keys"]
    assert len(thetas) == (3 if kind in MIXED_KINDS else 0)
    assert all((model.get_parameter(name) == -60).all() for name in thetas)
    assert all(getattr(model.config, name) == value for name, value in options.items())
    if kind != "full":
        assert torch.allclose(model(tokens()).logits, stock(tokens()).logits, atol=1e-12)
    with pytest.raises(ValueError, match=r"^residual: found 'x', allowed diffusion"):
        family.wavy.from_pretrained(tmp_path, residual="x")


@families
def test_a_kind_can_be_changed_when_a_file_is_read(family, tmp_path):
    model = family.make("light", theta_init=-1.0)
    model.save_pretrained(tmp_path)
    other = family.wavy.from_pretrained(tmp_path, residual="mix_light", theta_init=5.0)
    assert other.config.residual == "mix_light"
    assert (other.layers()[0].residual.theta == -1).all(), "a saved theta is kept"


def test_every_language_model_of_the_library_has_a_wavy_one():
    names = {
        name
        for module in (transformers.models.bert.modeling_bert, transformers.models.gpt2.modeling_gpt2)
        for name in module.__all__
        if not name.endswith(("PreTrainedModel", "Layer"))
    }
    assert {head.__name__ for head in HEADS} == names
    assert all(f"Wavy{head.__name__}" == wavy.__name__ for head, (wavy, _) in HEADS.items())
    assert all(inspect.getdoc(wavy).startswith(f"``{head.__name__}``") for head, (wavy, _) in HEADS.items())


@families
def test_auto_classes_build_the_wavy_class_where_they_build_the_stock_one(family):
    def built(auto, config):
        try:
            return type(auto.from_config(config))
        except ValueError as error:
            assert "Unrecognized configuration class" in str(error)  # noqa: PT017
            return None

    for auto in AUTOS:
        stock = built(auto, family.stock_config())
        assert built(auto, family.config("light")) is WAVY_CLASSES.get(stock), auto.__name__


def _call(model, head):
    ids = tokens()
    if "MultipleChoice" in head.__name__ or "DoubleHeads" in head.__name__:
        ids = ids.view(1, 2, 7)
    return model(ids, output_hidden_states=True, output_attentions=True)


@heads
@kinds
def test_wavify_converts_every_class_in_place_of_its_parts(head, kind, tmp_path):
    wavy, family = HEADS[head]
    stock = family.make_stock(head, pad_token_id=0, attn_implementation="eager")
    before = _call(stock, head)
    model = wavify(stock, kind, theta_init=-60.0, tau=0.5)
    assert type(model) is wavy
    assert type(stock) is head
    assert {id(p) for p in stock.parameters()} <= {id(p) for p in model.parameters()}
    configs = {id(part.config) for part in model.modules() if hasattr(part, "config")}
    assert configs == {id(model.config)}
    assert type(model.config) is wavy.config_class
    assert model.config is not stock.config
    assert type(stock.config) is head.config_class
    assert type(model.layers()[0]).__name__ in model._no_split_modules
    after = _call(model, head)
    assert len(after.hidden_states) == 4
    assert len(after.attentions) == 3
    if kind != "full":
        pairs = zip(before.to_tuple(), after.to_tuple(), strict=True)
        assert all(torch.allclose(a, b, atol=1e-10) for a, b in pairs if isinstance(a, torch.Tensor))
    model.save_pretrained(tmp_path)
    again = wavy.from_pretrained(tmp_path)
    assert again.config.residual == kind
    assert same_weights(again, model)


@families
def test_wavify_comes_before_any_wavy_model_was_made(family):
    """The library learns from a constructor what a class can record; wavify calls none."""
    stock = family.make_stock()
    before = dict(output_capturing._CAN_RECORD_REGISTRY)
    output_capturing._CAN_RECORD_REGISTRY.clear()
    try:
        model = wavify(stock, "light")
        assert len(model(tokens(), output_hidden_states=True).hidden_states) == 4
        assert len(model.base_model(tokens(), output_hidden_states=True).hidden_states) == 4
    finally:
        output_capturing._CAN_RECORD_REGISTRY.update(before)


@families
@kinds
def test_wavify_of_a_wavy_model_keeps_its_step_and_form(family, kind):
    model = family.make("light", tau=0.25, form="euler")
    other = wavify(model, kind, theta_init=1.0)
    assert (other.config.residual, other.config.tau, other.config.form) == (kind, 0.25, "euler")
    assert model.config.residual == "light"
    fresh = family.make(kind, tau=0.25, form="euler", theta_init=1.0)
    assert torch.equal(other(tokens()).logits, fresh(tokens()).logits)
    given = wavify(model, kind, tau=0.3, form="stock")
    assert (given.config.tau, given.config.form) == (0.3, "stock")
    assert torch.equal(given(tokens()).logits, family.make(kind, tau=0.3)(tokens()).logits)


@families
def test_wavify_refuses_what_it_would_break(family):
    stock = family.make_stock()
    layers = stock.base_model.encoder.layer if family is BERT else stock.base_model.h

    class Layer(type(layers[1])):
        pass

    layers[1].__class__ = Layer
    with pytest.raises(ValueError, match=r"^model: found layers of class Layer, allowed (BertLayer|GPT2Block)$"):
        wavify(stock, "light")
    layers[1].__class__ = Layer.__base__
    layers[1].forward = layers[1].forward
    with pytest.raises(ValueError, match=r"^model: found a layer whose forward was replaced"):
        wavify(stock, "light")


@kinds
def test_wavify_finds_the_models_within_another(kind, tmp_path):
    pair = transformers.EncoderDecoderModel(
        encoder=transformers.BertModel(BERT.stock_config()),
        decoder=transformers.BertLMHeadModel(DECODER.stock_config(add_cross_attention=True)),
    ).double()
    model = wavify(pair.eval(), kind, theta_init=-60.0)
    assert type(model.encoder) is bert.WavyBertModel
    assert type(model.decoder) is bert.WavyBertLMHeadModel
    inputs = {"input_ids": tokens(), "decoder_input_ids": tokens(length=4)}
    logits = model(**inputs).logits
    assert kind == "full" or torch.allclose(logits, pair(**inputs).logits, atol=1e-10)
    model.save_pretrained(tmp_path)
    again = transformers.EncoderDecoderModel.from_pretrained(tmp_path)
    assert type(again.decoder) is bert.WavyBertLMHeadModel
    assert close(again(**inputs).logits, logits)
