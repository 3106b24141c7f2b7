"""BERT with wavy layers: the equations of its layer, checked against the published model and against derivatives."""

from __future__ import annotations

import pytest
import torch
from torch.func import jvp

transformers = pytest.importorskip("transformers")

from language_models import BERT, DECODER, close, kinds, tokens  # noqa: E402
from wavy import wavify  # noqa: E402
from wavy.hosts.bert import WavyBertForPreTraining  # noqa: E402
from wavy.hosts.transformers_layers import ACTIVATION_NAMES  # noqa: E402
from wavy.official.bert import build  # noqa: E402


def published(**options):
    """The published full wave with all LayerNorm epsilons alike, as transformers has them."""
    torch.manual_seed(0)
    sizes = {name: size for name, size in BERT.options.items() if name != "initializer_range"}
    model = build(residual_type="wave", tau=0.5, num_labels=3, **sizes).double().eval()
    model.bert.embeddings.LayerNorm.eps = 1e-12
    return model


def test_full_is_the_published_wave():
    """Layers, velocities and logits are those of the published code, whose vectors its own tests compare."""
    theirs = published()
    ours = BERT.make("full", transformers.AutoModelForSequenceClassification.from_config, num_labels=3)
    weights = {_our_name(name): value for name, value in theirs.state_dict().items()}
    missing, unexpected = ours.load_state_dict(weights, strict=False)
    assert (missing, unexpected) == ([], [])
    velocities = []
    for layer in ours.layers()[:-1]:
        layer.register_forward_hook(lambda m, i, out: velocities.append(out[1]))
    mask = torch.ones(2, 7).index_fill(1, torch.tensor([5, 6]), 0).long()
    out = ours(tokens(), attention_mask=mask, output_hidden_states=True)
    expected = theirs(tokens(), attention_mask=mask, output_hidden_states=True)
    assert close(out.logits, expected.logits)
    assert all(close(a, b) for a, b in zip(out.hidden_states, expected.hidden_states, strict=True))
    assert all(close(a, b) for a, b in zip(velocities, expected.velocities[:-1], strict=True))


def _our_name(name):
    for old, new in (
        ("intermediate_joint", "intermediate"),
        ("output_joint.joint_layer_norm", "output.LayerNorm"),
        ("output_joint", "output"),
        ("LayerNorm.gamma", "LayerNorm.weight"),
        ("LayerNorm.beta", "LayerNorm.bias"),
    ):
        name = name.replace(old, new)
    return name


@pytest.mark.equation("eq-ffn-velocity")
@pytest.mark.parametrize("activation", ACTIVATION_NAMES)
def test_the_velocity_passes_the_mlp_by_its_derivative(activation):
    """For every activation of transformers' that is allowed, also with a module in place of a linear layer."""
    layer = BERT.make("full", hidden_act=activation).layers()[0]
    x, velocity = torch.randn(2, 3, 7, 16, dtype=torch.float64)

    def mlp(u):
        return layer.output.dense(layer.intermediate(u))

    _, along = jvp(mlp, (x,), (velocity,))
    norm = layer.output.LayerNorm
    layer.output.LayerNorm = torch.nn.LayerNorm(16, elementwise_affine=False, eps=norm.eps).double()
    for _ in range(2):
        after, moved = layer._feed_forward_pair(x, velocity)
        scale = (x + mlp(x)).var(-1, keepdim=True, correction=0).add(norm.eps).rsqrt()
        assert close(moved, scale * (velocity + along), 1e-7)
        assert close(after, layer.output.LayerNorm(x + mlp(x)), 1e-7)
        layer.intermediate.dense = torch.nn.Sequential(layer.intermediate.dense)


@kinds
def test_chunks_of_the_mlp_change_nothing(kind):
    whole, chunked = (BERT.make(kind, chunk_size_feed_forward=size) for size in (0, 2))
    chunked.load_state_dict(whole.state_dict())
    ids = tokens(2, 8)
    assert close(chunked(ids).logits, whole(ids).logits)


@kinds
def test_pretraining_learns_from_both_heads(kind):
    model = BERT.make(kind, WavyBertForPreTraining)
    out = model(tokens(), labels=tokens(), next_sentence_label=torch.tensor([0, 1]))
    out.loss.backward()
    assert model.cls.seq_relationship.weight.grad.abs().sum() > 0
    assert model.bert.embeddings.word_embeddings.weight.grad.abs().sum() > 0


@kinds
def test_an_encoder_and_a_decoder_generate_with_a_cache(kind):
    encoder = transformers.BertModel(BERT.stock_config())
    decoder = transformers.BertLMHeadModel(DECODER.stock_config(add_cross_attention=True))
    model = wavify(transformers.EncoderDecoderModel(encoder=encoder, decoder=decoder).double().eval(), kind)
    options = {"max_new_tokens": 5, "do_sample": False, "decoder_start_token_id": 1, "pad_token_id": 0}
    found = [model.generate(tokens(), use_cache=use_cache, **options) for use_cache in (True, False)]
    assert torch.equal(*found)


def test_the_tokens_of_an_encoder_see_each_other():
    model, ids = BERT.make("light"), tokens()
    changed = torch.cat([ids[:, :4], 42 - ids[:, 4:]], dim=1)
    assert not close(model(ids).logits[:, :4], model(changed).logits[:, :4], 1e-3)
