"""The published models equal the reference vectors, and a state dict that does not fit is refused by name."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from systems import normal
from wavy import official

BERTS = ["bert_diffuse_tau1.0", "bert_diffuse_tau0.5", "bert_wave_tau0.5", "bert_mix_tau0.5"]
SMALL_BERT = {
    "vocab_size": 11,
    "hidden_size": 6,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 10,
    "max_position_embeddings": 7,
    "residual_type": "mix",
    "tau": 0.5,
}
SMALL_DIFFORMER = {"in_channels": 5, "hidden_channels": 4, "out_channels": 3}
SMALL_VIT = {"img_size": 8, "patch_size": 4, "num_classes": 3, "embed_dim": 6, "depth": 2, "num_heads": 2}


def close(found, expected):
    assert (found - expected).abs().max() < 1e-9


@pytest.mark.parametrize("name", BERTS)
def test_bert(golden, name):
    reference = golden(name)
    model = official.load(reference.weights, family="bert", **reference.meta)
    inputs = reference.input_ids, reference.attention_mask, reference.token_type_ids
    output = model(*inputs, output_hidden_states=True, output_attentions=True)
    close(output.logits, reference.logits)
    close(torch.stack(output.hidden_states), reference.hidden_states)
    close(torch.stack(output.attentions), reference.attentions)
    assert model(*inputs).hidden_states is None


@pytest.mark.parametrize("name", ["vit_wave", "vit_wave_without_featscale"])
def test_vit(golden, name):
    reference = golden(name)
    model = official.load(reference.weights, family="vit", **reference.meta)
    logits, states, velocities = model(reference.x, return_states=True)
    close(logits, reference.logits)
    close(torch.stack(states), reference.states)
    close(torch.stack(velocities), reference.velocities)
    assert torch.equal(model(reference.x), logits)


@pytest.mark.parametrize(("name", "family"), [("featscale_block", "featscale"), ("attnscale_attention", "attnscale")])
def test_scales(golden, name, family):
    reference = golden(name)
    close(official.load(reference.weights, family=family, **reference.meta)(reference.x), reference.y)


def test_a_bare_encoder_loads_and_names_the_fresh_head(tmp_path):
    whole = official.bert.build(**SMALL_BERT).double()
    encoder = {
        name.removeprefix("bert."): value for name, value in whole.state_dict().items() if "classifier" not in name
    }
    torch.save({"model": encoder | {"embeddings.position_ids": torch.arange(7)}}, tmp_path / "encoder.pt")
    with pytest.warns(UserWarning, match=r"freshly drawn: classifier\.weight, classifier\.bias"):
        model = official.load(tmp_path / "encoder.pt", family="bert", **SMALL_BERT)
    assert model.fresh == ["classifier.weight", "classifier.bias"]
    ids = torch.tensor([[1, 2, 3]])
    states = [m.eval()(ids, output_hidden_states=True).hidden_states[-1] for m in (model, whole)]
    assert torch.equal(*states)


def test_an_encoder_without_its_prefix_may_have_its_head_beside_it():
    whole = official.bert.build(**SMALL_BERT).double().eval()
    plain = {name.removeprefix("bert."): value for name, value in whole.state_dict().items()}
    model, ids = official.load(plain, family="bert", **SMALL_BERT), torch.tensor([[1, 2, 3]])
    assert model.fresh == []
    assert torch.equal(model(ids).logits, whole(ids).logits)


def test_a_vit_checkpoint_may_lie_under_the_key_model():
    whole = official.vit.build(**SMALL_VIT).double()
    model = official.load({"model": whole.state_dict()}, family="vit", **SMALL_VIT)
    x = normal(0, 2, 3, 8, 8)
    assert torch.equal(model(x), whole.eval()(x))


def test_padding_does_not_change_a_row():
    model = official.bert.build(**SMALL_BERT).double().eval()
    ids = torch.tensor([[1, 2, 3, 0, 0]])
    padded = model(ids, torch.tensor([[1, 1, 1, 0, 0]])).logits
    close(padded, model(ids[:, :3]).logits)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w: w.pop("bert.pooler.dense.bias"), r"missing: bert\.pooler\.dense\.bias"),
        (lambda w: w.update({"bert.extra": torch.zeros(1)}), r"unexpected: bert\.extra"),
        (lambda w: w.update({"classifier.bias": torch.zeros(9)}), r"misshaped: classifier\.bias \(9,\) for \(2,\)"),
    ],
)
def test_what_does_not_fit_is_listed(change, message):
    weights = official.bert.build(**SMALL_BERT).state_dict()
    change(weights)
    with pytest.raises(ValueError, match=message):
        official.load(weights, family="bert", **SMALL_BERT)


@pytest.mark.parametrize(
    ("family", "hparams", "message"),
    [
        ("bert", {"hidden_size": 6}, "hparams: found no vocab_size, num_hidden_layers"),
        ("bert", SMALL_BERT | {"residual_type": "heat"}, "residual_type: found 'heat', allowed diffuse, wave, mix"),
        ("bert", SMALL_BERT | {"num_attention_heads": 4}, "num_attention_heads: found 4, allowed a divisor of hidden"),
        ("vit", SMALL_VIT | {"patch_size": 3}, "patch_size: found 3, allowed a divisor of img_size = 8"),
        ("vit", SMALL_VIT | {"num_heads": 0}, "num_heads: found 0, allowed a whole number >= 1"),
        ("featscale", {"dim": 6, "num_heads": 4}, "num_heads: found 4, allowed a divisor of the width = 6"),
        ("bert", SMALL_BERT | {"tau": 0}, "tau: found 0, allowed 0 < tau"),
        ("bert", SMALL_BERT | {"tau": "half"}, "tau: found 'half', allowed 0 < tau"),
        ("bert", SMALL_BERT | {"tau": float("nan")}, "tau: found nan, allowed 0 < tau"),
        ("bert", SMALL_BERT | {"vocab_size": 0}, "vocab_size: found 0, allowed a whole number >= 1"),
        ("vit", SMALL_VIT | {"depth": 0}, "depth: found 0, allowed a whole number >= 1"),
        ("difformer", SMALL_DIFFORMER | {"alpha": 0}, "alpha: found 0, allowed 0 < alpha <= 1"),
        ("difformer", SMALL_DIFFORMER | {"alpha": 2, "use_residual": False}, "alpha: found 2, allowed"),
        ("difformer", SMALL_DIFFORMER | {"graph_weight": None}, "graph_weight: found None, allowed a number <= 1"),
        ("difformer", SMALL_DIFFORMER | {"graph_weight": float("nan")}, "graph_weight: found nan"),
        ("vit", SMALL_VIT | {"tau": 0.2}, "hparams: found tau, allowed img_size"),
    ],
)
def test_wrong_hyper_parameters_are_named(family, hparams, message):
    with pytest.raises(ValueError, match=message):
        official.load({"w": torch.zeros(1)}, family=family, **hparams)


def test_arrays_of_numpy_are_weights_too(tmp_path):
    weights = official.vit.build(**SMALL_VIT).double().state_dict()
    np.savez(tmp_path / "weights.npz", **{name: value.numpy() for name, value in weights.items()})
    with np.load(tmp_path / "weights.npz") as arrays:
        loaded = official.load(arrays, family="vit", **SMALL_VIT)
    assert all(torch.equal(value, weights[name]) for name, value in loaded.state_dict().items())


@pytest.mark.parametrize("double", ["cls_token", "head.bias"])
def test_weights_of_several_types_lose_no_digit(double):
    weights = official.vit.build(**SMALL_VIT).bfloat16().state_dict()
    weights[double] = normal(0, *weights[double].shape)
    loaded = official.load(weights, family="vit", **SMALL_VIT).state_dict()
    assert torch.equal(loaded[double], weights[double])


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (official.vit.build(**SMALL_VIT), r"found PublishedViT, allowed a mapping .*; pass its state_dict\(\)"),
        ([torch.zeros(1)], "found list, allowed a mapping"),
        ({"model": [1]}, "found list, allowed a mapping"),
        ({"head.bias": "zero"}, "found str as head.bias"),
        ({"head.bias": np.array("zero")}, "found array of <U4 as head.bias"),
    ],
)
def test_what_is_no_state_dict_is_told_in_one_line(found, message):
    with pytest.raises(ValueError, match=f"^state_dict: {message}[^\n]*$"):
        official.load(found, family="vit", **SMALL_VIT)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read .No such file"),
        ("no checkpoint", "cannot be read"),
        ([torch.zeros(1)], "found list"),
        (torch.nn.Linear(1, 1), "cannot be read"),
    ],
)
def test_a_file_that_is_no_checkpoint_is_told_in_one_line(tmp_path, content, message):
    path = tmp_path / "weights.pt"
    if isinstance(content, str):
        path.write_text(content, encoding="utf-8")
    elif content is not None:
        torch.save(content, path)
    with pytest.raises(ValueError, match=f"^state_dict: [^\n]*{message}[^\n]*$"):
        official.load(path, family="vit", **SMALL_VIT)


def test_inputs_of_another_size_are_refused():
    vit, bert = official.vit.build(**SMALL_VIT), official.bert.build(**SMALL_BERT)
    for shape in [(1, 3, 4, 16), (1, 3, 12, 12), (3, 8, 8)]:  # the first has as many patches as (8, 8)
        with pytest.raises(ValueError, match=r"x: found \(.*\), allowed images \(B, 3, 8, 8\)"):
            vit(torch.zeros(shape))
    for shape in [(1, 8), (3,)]:
        with pytest.raises(ValueError, match=r"input_ids: found .*, allowed \(B, N\) with N <= .* = 7"):
            bert(torch.zeros(shape, dtype=torch.long))
