"""BERT with wavy layers: the equations of its layer, checked against the published model and against derivatives."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.func import jvp

transformers = pytest.importorskip("transformers")

from language_models import BERT, DECODER, apart, close, kinds, moved, tokens  # noqa: E402
from wavy import wavify  # noqa: E402
from wavy.dynamics import KINDS  # noqa: E402
from wavy.hosts import bert  # noqa: E402
from wavy.hosts.pairs import mlp_pair  # noqa: E402
from wavy.hosts.transformers_layers import ACTIVATION_NAMES, activation_name  # noqa: E402
from wavy.official.bert import build  # noqa: E402
from wavy.residual import Residual  # noqa: E402


def published():
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


@kinds
@pytest.mark.parametrize("cross", [False, True])
def test_a_layer_is_its_equations(kind, cross, monkeypatch):
    """Each sum passes LayerNorm, a velocity as LN_v; the mlp moves it by FFN_v."""
    options = {"is_decoder": cross, "add_cross_attention": cross, "attn_implementation": "eager"}
    layer = BERT.make(kind, theta_init=0.3, tau=0.4, **options).layers()[0]
    x, memory, other = torch.randn(3, 2, 5, 16, dtype=torch.float64)
    start, waves = None if kind == "diffusion" else memory, kind in ("full", "mix_full")

    def attend(attention, state, **inputs):
        return attention.output.dense(attention.self(state, **inputs)[0])

    def normed(norm, state, kept):
        return norm(state), moved(norm, state, kept) if waves else kept

    def mlp(state):
        return layer.output.dense(layer.intermediate(state))

    state, kept = Residual(16, kind, 0.4, 0.3, "stock").double()(x, attend(layer.attention, x), start)
    state, kept = normed(layer.attention.output.LayerNorm, state, kept)
    if cross:  # the stock residual
        sum_ = state + attend(layer.crossattention, state, encoder_hidden_states=other)
        state, kept = normed(layer.crossattention.output.LayerNorm, sum_, kept)
    kept = kept + jvp(mlp, (state,), (kept,))[1] if waves else kept
    state, kept = normed(layer.output.LayerNorm, state + mlp(state), kept)

    inputs = {"encoder_hidden_states": other if cross else None}
    after, found = apart(layer(x if start is None else (x, start), **inputs))
    assert close(after, state)
    assert found is kept is None or close(found, kept)
    # The last one hands on the state alone, and has no use for a velocity's mlp.
    monkeypatch.setattr(bert, "mlp_pair", None)
    layer.last = True
    assert close(layer(x if start is None else (x, start), **inputs), state)


@pytest.mark.equation("eq-ffn-velocity")
@pytest.mark.parametrize("activation", ACTIVATION_NAMES)
def test_the_velocity_passes_the_mlp_by_its_derivative(activation):
    """For every activation of transformers' that is allowed, also with a module in place of a linear layer."""
    layer = BERT.make("full", hidden_act=activation).layers()[0]
    x, velocity = torch.randn(2, 3, 7, 16, dtype=torch.float64)
    state, along = jvp(lambda u: layer.output.dense(layer.intermediate(u)), (x,), (velocity,))
    first, second = layer.intermediate.dense, layer.output.dense
    activation = activation_name(layer.intermediate.intermediate_act_fn)
    for matrices in ((first, second), (nn.Sequential(first), nn.Sequential(second))):
        pair = mlp_pair(x, velocity, matrices[0], activation, matrices[1])
        # transformers writes some constants of its approximations with few digits.
        assert all(close(a, b, 1e-7) for a, b in zip(pair, (state, along), strict=True))


@pytest.mark.parametrize("train", [False, True])
def test_dropout_of_the_mlp_is_shared(train, monkeypatch):
    monkeypatch.setattr("wavy.hosts.bert.normed", lambda norm, x, velocity: (x, velocity))
    layer = BERT.make("full", hidden_dropout_prob=0.5).train(train).layers()[0]
    x = torch.randn(1, 50, 16, dtype=torch.float64)
    dropped = [out == x for out in layer._feed_forward_pair(x, x)]
    assert torch.equal(*dropped)
    assert dropped[0].any() == train


@kinds
def test_chunks_of_the_mlp_change_nothing(kind):
    whole, chunked = (BERT.make(kind, chunk_size_feed_forward=size) for size in (0, 2))
    chunked.load_state_dict(whole.state_dict())
    ids = tokens(2, 8)
    assert close(chunked(ids).logits, whole(ids).logits)


@kinds
def test_pretraining_learns_from_both_heads(kind):
    model = BERT.make(kind, bert.WavyBertForPreTraining)
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


class Scored(bert.WavyBertPreTrainedModel):
    """A head of one's own, written as transformers' are."""

    def __init__(self, config):
        super().__init__(config)
        self.bert = bert.WavyBertModel(config)
        self.score = nn.Linear(config.hidden_size, 1)
        self.post_init()

    def forward(self, input_ids):
        return self.score(self.bert(input_ids).pooler_output)


@kinds
def test_a_head_of_ones_own(kind, tmp_path):
    model = Scored(BERT.config(kind)).double().eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter)
    model.save_pretrained(tmp_path)
    again = Scored.from_pretrained(tmp_path)
    assert close(again(tokens()), model(tokens()))
    backbone = bert.WavyBertModel.from_pretrained(tmp_path)
    assert close(backbone(tokens()).pooler_output, model.bert(tokens()).pooler_output)


def _subclass(part):
    part.__class__ = type("Adapter", (type(part),), {})


def _forward(part):
    own = part.forward
    part.forward = lambda *inputs: own(*inputs) + 1


def _hook(part):
    part.register_forward_hook(lambda *_: None)


@kinds
@pytest.mark.parametrize("change", [_subclass, _forward, _hook])
@pytest.mark.parametrize(
    ("name", "only"),
    [
        ("attention", KINDS),
        ("attention.output", KINDS),
        ("intermediate", ("full", "mix_full")),
        ("output", ("full", "mix_full")),
        ("intermediate.intermediate_act_fn", ("full", "mix_full")),
    ],
)
def test_a_changed_part_is_called_or_refused(kind, name, only, change):
    """Whether it was changed before the model was converted or after."""
    plain, after = BERT.make_stock(), BERT.make(kind)
    for layers in (plain.bert.encoder.layer, after.layers()):
        change(layers[0].get_submodule(name))
    for use in (lambda: wavify(plain, kind)(tokens()), lambda: after(tokens())):
        if kind in only:
            with pytest.raises(ValueError, match=r"^(attention|intermediate|output|activation)\S*: found") as caught:
                use()
            assert "\n" not in str(caught.value)
        else:
            assert use().logits.isfinite().all()


@pytest.mark.parametrize("kind", ["diffusion", "light", "mix_light"])
def test_a_changed_mlp_is_the_models_own(kind):
    plain = BERT.make_stock()
    plain.bert.encoder.layer[1].output.register_forward_hook(lambda module, inputs, out: 2 * out)
    found = wavify(plain, kind, theta_init=-60)(tokens()).logits
    assert close(found, plain(tokens()).logits)


@kinds
@pytest.mark.parametrize("activation", [nn.ReLU(), nn.GELU("tanh"), nn.SiLU(), nn.Tanh()])
def test_the_activation_is_that_of_the_mlp(kind, activation):
    plain = BERT.make_stock()
    for layer in plain.bert.encoder.layer:
        layer.intermediate.intermediate_act_fn = activation
    if kind in ("full", "mix_full") and isinstance(activation, nn.Tanh):
        with pytest.raises(ValueError, match=r"^activation: found Tanh, allowed relu, gelu or silu"):
            wavify(plain, kind)
    elif kind == "full":
        names = {nn.ReLU: "relu", nn.GELU: "gelu_pytorch_tanh", nn.SiLU: "silu"}
        alike = BERT.alike(kind, plain, hidden_act=names[type(activation)])
        found, expected = (model.bert(tokens()).last_hidden_state for model in (wavify(plain, kind), alike))
        assert close(found, expected)
    else:
        assert close(wavify(plain, kind, theta_init=-60)(tokens()).logits, plain(tokens()).logits)
