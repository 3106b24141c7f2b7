"""torch.nn's transformer encoder with any residual kind: torch's own numbers for diffusion, masks for every kind."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from systems import normal
from wavy import wavify
from wavy.diagnostics import layer_profile
from wavy.dynamics import KINDS, MIXED_KINDS
from wavy.hosts.conversion import ResidualOptions
from wavy.hosts.encoder import WavyTransformerEncoder, WavyTransformerEncoderLayer, convert_layers
from wavy.hosts.transformer import WavyBlock

# torch itself warns of each: nested tensors are a prototype, and not every encoder can use them.
pytestmark = [
    pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors"),
    pytest.mark.filterwarnings("ignore:enable_nested_tensor is True"),
]
kinds = pytest.mark.parametrize("kind", KINDS)
velocities = pytest.mark.parametrize("kind", ["full", "mix_full"])
norms = pytest.mark.parametrize("norm_first", [False, True])
grads = pytest.mark.parametrize("grad", [False, True])
#: Real tokens of the three sequences of a padded batch: all, some, one.
LENGTHS = (5, 3, 1)
PADDING = torch.arange(5) >= torch.tensor(LENGTHS)[:, None]
ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "gelu_tanh": nn.GELU("tanh"), "silu": F.silu}
CAUSAL = torch.ones(5, 5).triu(1).bool()


def moved(module):
    """The module in float64 with every parameter moved off its start, each layer's in its own way."""
    with torch.no_grad():
        for index, parameter in enumerate(module.double().parameters()):
            parameter.add_(0.3 * normal(index, *parameter.shape))
    return module


def stock(layers=3, norm=False, **options):
    options = {"dim_feedforward": 16, "batch_first": True} | options
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, **options)
    return moved(nn.TransformerEncoder(layer, layers, nn.LayerNorm(8) if norm else None)).eval()


def wavy(kind, layers=3, theta_init=0.5, **options):
    return wavify(stock(layers, **options), kind, theta_init=theta_init)


def tokens(*shape):
    return normal(100, *(shape or (3, 5)), 8)


def layer_of(kind, last=False, **options):
    options = {"dim_feedforward": 8, "batch_first": True, "dropout": 0.0, "residual": kind} | options
    torch.manual_seed(0)
    layer = moved(WavyTransformerEncoderLayer(8, 2, **options))
    layer.last = last
    return layer


@grads
@norms
@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("masks", [{}, {"src_key_padding_mask": PADDING}, {"mask": CAUSAL}])
@pytest.mark.parametrize("options", [{}, {"batch_first": False}, {"activation": "gelu", "bias": False}, {"norm": True}])
def test_diffusion_is_torchs_encoder_bit_for_bit(options, masks, train, norm_first, grad):
    plain = stock(norm_first=norm_first, **options).train(train)
    x = tokens() if options.get("batch_first", True) else tokens().transpose(0, 1)
    found = []
    for model in (plain, wavify(plain, "diffusion")):
        torch.manual_seed(3)
        with torch.set_grad_enabled(grad):
            found.append(model(x, **masks))
    assert torch.equal(*found)


def blocks_like(model, norm_first, activation):
    """The book's blocks with the weights of an encoder's layers."""
    for layer in model.layers:
        own = layer.residual
        block = WavyBlock(8, 2, 16, own.kind, own.tau, form=own.form, norm="pre" if norm_first else "post").double()
        block.mlp.activation = activation
        attention = block.attention
        with torch.no_grad():
            for name in ("weight", "bias"):
                parts = getattr(layer.self_attn, f"in_proj_{name}").chunk(3)
                for linear, part in zip((attention.query, attention.key, attention.value), parts, strict=True):
                    getattr(linear, name).copy_(part)
        pairs = {"linear1": block.mlp.fc1, "linear2": block.mlp.fc2, "norm1": block.norm1, "norm2": block.norm2}
        for name, part in pairs.items():
            part.load_state_dict(getattr(layer, name).state_dict())
        attention.out.load_state_dict(layer.self_attn.out_proj.state_dict())
        block.residual.load_state_dict(own.state_dict())
        yield block


@pytest.mark.equation("eq-block")
@norms
@kinds
@pytest.mark.parametrize("name", ACTIVATIONS)
@settings(max_examples=3)
@given(shape=st.tuples(st.integers(1, 3), st.integers(1, 6)))
def test_an_encoder_is_the_books_blocks(kind, norm_first, shape, name):
    model, x = wavy(kind, norm_first=norm_first, activation=ACTIVATIONS[name]), tokens(*shape)
    pair = x, None
    for block in blocks_like(model, norm_first, name):
        pair = block(*pair)
    assert torch.allclose(model(x), pair[0], rtol=1e-10, atol=1e-10)


@norms
@kinds
def test_states_of_torchs_encoder_load_with_only_theta_missing(kind, norm_first):
    plain = stock(norm_first=norm_first)
    options = {"batch_first": True, "norm_first": norm_first, "dtype": torch.float64}
    layer = WavyTransformerEncoderLayer(8, 2, 16, residual=kind, **options)
    model = WavyTransformerEncoder(layer, num_layers=3).eval()
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float64}
    missing, unexpected = model.load_state_dict(plain.state_dict(), strict=False)
    assert unexpected == []
    assert missing == ([f"layers.{i}.residual.theta" for i in range(3)] if kind in MIXED_KINDS else [])
    assert torch.equal(model(tokens()), wavify(plain, kind)(tokens()))
    assert layer_profile(model, tokens())["module"].tolist() == ["layers.0", "layers.1", "layers.2"]


@norms
@kinds
def test_the_layouts_of_torch_are_one_model(kind, norm_first):
    model = wavy(kind, norm_first=norm_first)
    turned = wavy(kind, norm_first=norm_first, batch_first=False)
    x = tokens()
    assert torch.allclose(turned(x.transpose(0, 1)), model(x).transpose(0, 1), rtol=1e-12, atol=1e-12)
    assert torch.allclose(model(x[0]), model(x)[0], rtol=1e-12, atol=1e-12)


@norms
@kinds
def test_without_biases_it_is_the_model_whose_biases_are_zero(kind, norm_first):
    bare, full = (wavy(kind, norm_first=norm_first, bias=bias) for bias in (False, True))
    with torch.no_grad():
        for name, parameter in full.named_parameters():
            parameter.copy_(0 * parameter if name.endswith("bias") else bare.get_parameter(name))
    assert torch.allclose(bare(tokens()), full(tokens()), rtol=1e-12, atol=1e-12)


@grads
@norms
@kinds
def test_padding_touches_no_real_token(kind, norm_first, grad):
    model, x = wavy(kind, norm_first=norm_first), tokens()
    other = torch.where(PADDING[..., None], 9.0, x)
    with torch.set_grad_enabled(grad):
        found, again = (model(x, src_key_padding_mask=PADDING) for x in (x, other))
        alone = [model(row[None, :length])[0] for row, length in zip(x, LENGTHS, strict=True)]
    assert torch.allclose(found[~PADDING], again[~PADDING], rtol=1e-12, atol=1e-12)
    assert torch.allclose(found[~PADDING], torch.cat(alone), rtol=1e-10, atol=1e-10)


@norms
@kinds
def test_padded_places_are_zero_where_those_of_torch_are(kind, norm_first):
    plain = stock(norm_first=norm_first)
    for grad in (True, False):
        with torch.set_grad_enabled(grad):
            models = plain, wavify(plain, kind)
            expected, found = (model(tokens(), src_key_padding_mask=PADDING) == 0 for model in models)
        assert torch.equal(found, expected)
    # In eval mode without gradients, and only post-norm, torch's encoder makes nested tensors of padded input.
    assert expected.any() != norm_first


@norms
@kinds
def test_no_token_sees_a_later_one_through_a_causal_mask(kind, norm_first):
    model, x = wavy(kind, norm_first=norm_first), tokens()
    changed = torch.cat([x[:, :3], x[:, 3:] + 1], dim=1)
    full = model(x, mask=CAUSAL)
    assert torch.allclose(full[:, :3], model(changed, mask=CAUSAL)[:, :3], rtol=1e-12, atol=1e-12)
    assert torch.allclose(full[:, :3], model(x[:, :3], mask=CAUSAL[:3, :3]), rtol=1e-10, atol=1e-10)
    assert not torch.allclose(full[:, 3:], model(changed, mask=CAUSAL)[:, 3:])
    with torch.no_grad():
        assert torch.allclose(full, model(x, mask=CAUSAL, is_causal=True), rtol=1e-10, atol=1e-10)
        both = model(x, mask=CAUSAL, src_key_padding_mask=PADDING)
    assert torch.allclose(both[~PADDING], full[~PADDING], rtol=1e-10, atol=1e-10)


@norms
@kinds
def test_a_nested_tensor_stays_one(kind, norm_first):
    model = wavy(kind, norm_first=norm_first)
    rows = [row[:length] for row, length in zip(tokens(), LENGTHS, strict=True)]
    with torch.no_grad():
        found = model(torch.nested.nested_tensor(rows))
        assert found.is_nested
        for out, row in zip(found.unbind(), rows, strict=True):
            assert torch.allclose(out, model(row[None])[0], rtol=1e-10, atol=1e-10)


@kinds
@pytest.mark.parametrize("mask", [{"mask": CAUSAL}, {"src_key_padding_mask": PADDING}])
def test_a_nested_tensor_takes_no_mask(kind, mask):
    model, nested = wavy(kind), torch.nested.nested_tensor(list(tokens()))
    (name, value), *_ = mask.items()
    layer = {"src_mask": value} if name == "mask" else mask
    with torch.no_grad():
        for call in (lambda: model(nested, **mask), lambda: model.layers[0](nested, **layer)):
            with pytest.raises(ValueError, match=f"^{name}: found one for a nested tensor, allowed None") as caught:
                call()
            assert "\n" not in str(caught.value)


@kinds
@pytest.mark.parametrize("options", [{"tau": 0.25}, {"form": "euler"}, {"tau": 1.0, "form": "euler"}])
def test_step_and_form_are_kept_where_none_are_given(kind, options):
    once = wavify(stock(), "light", **options)
    assert torch.equal(wavify(once, kind)(tokens()), wavify(stock(), kind, **options)(tokens()))
    built = WavyTransformerEncoder(layer_of("light", **options), 2)
    found = {(layer.residual.tau, layer.residual.form) for layer in wavify(built, kind).layers}
    assert found == {(options.get("tau", 0.5), options.get("form", "stock"))}


@velocities
@pytest.mark.parametrize("place", ["dropout", "dropout2"])
def test_dropout_drops_state_and_velocity_together(place, kind):
    layer = layer_of(kind, norm_first=True, activation="gelu")
    with torch.no_grad():  # each hidden channel leads to one channel of the output
        layer.linear2.weight.copy_(torch.eye(8))
        layer.linear2.bias.zero_()
    x, velocity = tokens(), normal(101, 3, 5, 8)
    getattr(layer, place).p = 0.5
    after, carried = layer.residual(x, layer.self_attn(*[layer.norm1(x)] * 3)[0], velocity)
    out, moved_on = layer.train()((x, velocity))
    dropped = (out - after).abs() < 1e-12
    assert 0.2 < dropped.double().mean() < 0.8
    assert torch.equal((moved_on - carried).abs() < 1e-12, dropped)


@velocities
def test_activations_that_a_velocity_passes(kind):
    alike = [
        ("relu", F.relu, nn.ReLU(), torch.relu),
        ("gelu", F.gelu, nn.GELU()),
        (nn.GELU("tanh"),),
        (F.silu, nn.SiLU()),
    ]
    found = []
    for names in alike:
        outputs = [wavy(kind, activation=name)(tokens()) for name in names]
        assert all(torch.equal(out, outputs[0]) for out in outputs)
        found.append(outputs[0])
    assert not any(torch.allclose(a, b) for i, a in enumerate(found) for b in found[:i])


@kinds
@pytest.mark.parametrize(("activation", "found"), [(F.leaky_relu, "leaky_relu"), (nn.Tanh(), "Tanh")])
def test_another_activation_does_where_no_velocity_passes(activation, found, kind):
    if kind not in ("full", "mix_full"):
        assert torch.isfinite(wavy(kind, activation=activation)(tokens())).all()
        return
    plain = stock(activation=activation)
    for build in (lambda: wavify(plain, kind), lambda: layer_of(kind, activation=activation)):
        with pytest.raises(ValueError, match=f"^activation: found {found}, allowed relu, gelu or silu") as caught:
            build()
        assert "\n" not in str(caught.value)
    assert type(plain) is nn.TransformerEncoder


@kinds
def test_another_norm_does_where_no_velocity_passes(kind):
    plain = stock()
    plain.layers[1].norm2 = nn.RMSNorm(8).double()
    if kind in ("full", "mix_full"):
        with pytest.raises(ValueError, match="norm: found RMSNorm, allowed LayerNorm where a velocity passes"):
            wavify(plain, kind)
    else:
        assert torch.isfinite(wavify(plain, kind)(tokens())).all()


@norms
@kinds
def test_gradients_are_right(kind, norm_first):
    layer = layer_of(kind, norm_first=norm_first, activation="gelu").eval()
    x, memory = (normal(i, 1, 3, 8).requires_grad_() for i in (1, 2))
    inputs = (x,) if kind == "diffusion" else (x, memory)
    assert torch.autograd.gradcheck(lambda *pair: layer(pair if len(pair) > 1 else pair[0]), inputs)


@norms
@kinds
def test_every_parameter_learns(kind, norm_first):
    model = wavy(kind, norm_first=norm_first).train()
    model(tokens(), src_key_padding_mask=PADDING)[~PADDING].square().sum().backward()
    still = set()
    for name, parameter in model.named_parameters():
        assert torch.isfinite(parameter.grad).all(), name
        if not parameter.grad.any():
            still.add(name)
    # The first layer has no state before it, so light has no momentum there.
    assert still == ({"layers.0.residual.theta"} if kind == "light" else set())


@kinds
def test_autocast_export_and_compile(kind):
    model, x = wavy(kind, layers=2, norm_first=kind in ("full", "light")).float(), tokens().float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.isfinite(model(x)).all()
    exported = torch.export.export(model, (x,)).module()
    assert torch.allclose(exported(x), model(x), atol=1e-4)
    torch.compiler.reset()
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    assert torch.allclose(compiled(x), model(x), atol=1e-4)


@kinds
def test_one_layer_in_all_places_is_an_encoder_of_equal_layers(kind):
    shared, apart = stock(), stock()
    shared.layers = nn.ModuleList([shared.layers[0]] * 3)
    apart.layers = nn.ModuleList(copy.deepcopy(shared.layers[0]) for _ in range(3))
    model = wavify(shared, kind)
    for again in (model, wavify(model, kind), copy.deepcopy(model)):
        assert torch.equal(again(tokens()), wavify(apart, kind)(tokens()))
        assert len(list(again.parameters())) == len(list(shared.parameters())) + (kind in MIXED_KINDS)


@kinds
def test_only_an_encoder_of_wavys_tells_the_last_layer(kind):
    layer = WavyTransformerEncoderLayer(8, 2, 16, batch_first=True, residual=kind).double()
    plain = nn.TransformerEncoder(layer, 2)
    if kind == "diffusion":
        assert plain(tokens()).shape == (3, 5, 8)
    else:
        with pytest.raises(RuntimeError, match="layer: found outside a WavyTransformerEncoder"):
            plain(tokens())
    assert wavify(plain, kind)(tokens()).shape == (3, 5, 8)
    model = WavyTransformerEncoder(layer, 3)
    del model.layers[2]
    assert model(tokens()).shape == (3, 5, 8)


@kinds
def test_an_encoder_that_was_made_deeper(kind):
    plain, deep = stock(), wavy(kind)
    plain.layers.extend(copy.deepcopy(plain.layers))
    deep.layers.extend(copy.deepcopy(deep.layers))
    assert torch.equal(deep(tokens()), wavify(plain, kind, theta_init=0.5)(tokens()))


@kinds
def test_two_encoders_that_share_layers(kind):
    shallow, deep = stock(), stock()
    shallow.layers = deep.layers[:2]
    for order in ((shallow, deep), (deep, shallow)):
        holder = wavify(nn.ModuleList(order), kind)
        for model, plain in zip(holder, order, strict=True):
            assert torch.equal(model(tokens()), wavify(plain, kind)(tokens()))


@kinds
def test_a_wavy_encoder_of_layers_of_another(kind):
    deep = wavy(kind)
    expected, shallow = deep(tokens()), WavyTransformerEncoder(layer_of(kind), 2)
    shallow.layers = deep.layers[:2]
    again = copy.deepcopy(shallow)
    for _ in range(2):
        assert torch.equal(shallow(tokens()), again(tokens()))
        assert torch.equal(deep(tokens()), expected)


@kinds
def test_the_encoder_of_a_whole_transformer_is_converted_and_its_decoder_stays(kind):
    plain = moved(nn.Transformer(8, 2, 2, 2, 16, batch_first=True)).eval()
    model, x = wavify(plain, kind), tokens()
    memory = wavify(plain.encoder, kind)(x)
    assert torch.allclose(model(x, x[:, :2]), plain.decoder(x[:, :2], memory), rtol=1e-12, atol=1e-12)
    assert type(model.decoder) is nn.TransformerDecoder


@kinds
def test_layers_of_a_model_of_ones_own(kind):
    plain, x = stock(), tokens()
    layers = copy.deepcopy(plain.layers)
    convert_layers(layers, ResidualOptions(kind))
    out = x
    for layer in layers:
        out = layer(out)
    assert torch.equal(out, wavify(plain, kind)(x))


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: layer_of("full", tau=1.0), ValueError, "tau: found 1.0, allowed 0 < tau < 1"),
        (lambda: layer_of("wave"), ValueError, "residual: found 'wave'"),
        (lambda: layer_of("light", theta_init=float("nan")), ValueError, "theta_init: found nan"),
        (lambda: layer_of("light", form="host"), ValueError, "form: found 'host'"),
        (
            lambda: WavyTransformerEncoder(nn.TransformerEncoderLayer(8, 2), 2),
            TypeError,
            "encoder_layer: found TransformerEncoderLayer, allowed WavyTransformerEncoderLayer",
        ),
        (
            lambda: wavify(nn.TransformerEncoder(type("Mine", (nn.TransformerEncoderLayer,), {})(8, 2), 2)),
            ValueError,
            "model: found layers of class Mine, allowed TransformerEncoderLayer",
        ),
    ],
)
def test_refuses_in_one_line(build, error, message):
    with pytest.raises(error, match=f"^{message}") as caught:
        build()
    assert "\n" not in str(caught.value)
