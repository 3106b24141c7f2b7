"""wavify, for every model that it supports: the original stays, the weights are shared, the residual is new."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch
from torch import nn
from torch.nn.utils import prune

import wavy
from systems import normal
from wavy import wavify
from wavy.dynamics import KINDS, MIXED_KINDS
from wavy.hosts.conversion import CONVERTERS
from wavy.hosts.encoder import convert
from wavy.hosts.transformer import Transformer
from wavy.residual import Residual

pytestmark = [
    pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors"),
    pytest.mark.filterwarnings("ignore:enable_nested_tensor is True"),
]


def timm_vit():
    timm = pytest.importorskip("timm")
    options = {"img_size": 16, "patch_size": 8, "embed_dim": 8, "depth": 3, "num_heads": 2, "num_classes": 4}
    return timm.create_model("deit_tiny_patch16_224", **options), (normal(0, 2, 3, 16, 16),)


def torch_encoder(norm_first=False):
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=norm_first)
    return nn.TransformerEncoder(layer, 3, norm=nn.LayerNorm(8)), (normal(0, 2, 5, 8),)


def torch_transformer():
    return nn.Transformer(8, 2, 3, 1, 16, batch_first=True), (normal(0, 2, 5, 8), normal(1, 2, 3, 8))


def book_transformer():
    return Transformer(4, 6, 8, 3, 3), (normal(0, 2, 6, 4),)


def difformer():
    pytest.importorskip("torch_geometric")
    from wavy.hosts.difformer import DIFFormer  # noqa: PLC0415

    return DIFFormer(4, 8, 3, num_layers=3), (normal(0, 5, 4), torch.tensor([[0, 1, 2, 3], [1, 2, 3, 3]]))


#: Name -> function that gives a plain model and its inputs. A new host adds its line here.
MODELS = {
    "timm VisionTransformer": timm_vit,
    "torch TransformerEncoder, post-norm": torch_encoder,
    "torch TransformerEncoder, pre-norm": lambda: torch_encoder(norm_first=True),
    "torch Transformer": torch_transformer,
    "wavy Transformer": book_transformer,
    "wavy DIFFormer": difformer,
}
models = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())
kinds = pytest.mark.parametrize("kind", KINDS)


def made(make):
    """The plain model, in float64 and eval mode with its weights off their start, and a function that calls a model."""
    torch.manual_seed(0)
    model, inputs = make()
    model.double().eval()
    with torch.no_grad():
        for index, parameter in enumerate(model.parameters()):
            parameter.add_(0.2 * normal(index, *parameter.shape))
    return model, lambda another: first_tensor(another(*inputs))


def first_tensor(out):
    return out if isinstance(out, torch.Tensor) else first_tensor(out[0])


def tensors_of(model):
    """All parameters and buffers by name, also those that have several names."""
    return {**dict(model.named_parameters(remove_duplicate=False)), **dict(model.named_buffers(remove_duplicate=False))}


def new_tensors(model, plain):
    return tensors_of(model).keys() - tensors_of(plain).keys()


@kinds
@models
def test_the_original_stays_as_it_is(make, kind):
    plain, call = made(make)
    before, classes = call(plain), {name: type(module) for name, module in plain.named_modules()}
    names, attributes = tensors_of(plain).keys(), {name: set(vars(m)) for name, m in plain.named_modules()}
    call(wavify(plain, kind))
    assert torch.equal(call(plain), before)
    assert {name: type(module) for name, module in plain.named_modules()} == classes
    assert {name: set(vars(m)) for name, m in plain.named_modules()} == attributes
    assert tensors_of(plain).keys() == names


@kinds
@models
def test_parameters_and_buffers_are_the_very_same_and_only_theta_is_new(make, kind):
    plain, _ = made(make)
    plain.requires_grad_(False)
    next(plain.parameters()).requires_grad_()
    trained = [parameter.requires_grad for parameter in plain.parameters()]
    model = wavify(plain, kind)
    found = tensors_of(model)
    assert all(found[name] is tensor for name, tensor in tensors_of(plain).items())
    assert [parameter.requires_grad for parameter in plain.parameters()] == trained
    new = new_tensors(model, plain)
    assert bool(new) == (kind in MIXED_KINDS)
    for name in new:
        assert name.endswith("theta")
        assert found[name].requires_grad
        assert found[name].dtype == torch.float64


@pytest.mark.parametrize("kind", MIXED_KINDS)
@models
def test_a_very_negative_theta_gives_the_outputs_of_the_original(make, kind):
    plain, call = made(make)
    model = wavify(plain, kind, theta_init=-60)
    for grad in (False, True):
        with torch.set_grad_enabled(grad):
            assert torch.allclose(call(model), call(plain), rtol=1e-10, atol=1e-10)


@models
def test_a_wave_changes_them_and_diffusion_does_not(make):
    plain, call = made(make)
    assert torch.equal(call(wavify(plain, "diffusion")), call(plain))
    waves = [call(wavify(plain, kind)) for kind in KINDS if kind != "diffusion"]
    assert all(torch.isfinite(out).all() for out in waves)
    different = [call(plain), *waves]
    assert not any(torch.allclose(a, b) for index, a in enumerate(different) for b in different[:index])


@kinds
@models
def test_a_second_time_replaces_the_residual(make, kind):
    plain, call = made(make)
    once = wavify(plain, kind, theta_init=1.0)
    for other in KINDS:
        again = wavify(wavify(plain, other, theta_init=-2.0), kind, theta_init=1.0)
        assert torch.equal(call(again), call(once))
        assert tensors_of(again).keys() == tensors_of(once).keys()


@models
def test_step_and_form_reach_every_layer(make):
    plain, call = made(make)
    model = wavify(plain, "full", tau=0.25, form="euler")
    residuals = [module for module in model.modules() if isinstance(module, Residual)]
    assert len(residuals) == 3
    assert {(r.kind, r.tau, r.form) for r in residuals} == {("full", 0.25, "euler")}
    assert not torch.allclose(call(model), call(wavify(plain, "full")))


@kinds
@models
def test_training_the_one_trains_the_other(make, kind):
    plain, call = made(make)
    before, model = call(plain).detach(), wavify(plain, kind)
    call(model).square().sum().backward()
    torch.optim.SGD(model.parameters(), lr=0.1).step()
    assert not torch.allclose(call(plain), before)
    assert torch.equal(call(wavify(plain, "diffusion")), call(plain))


@kinds
@models
def test_modes_hooks_and_attributes_are_kept(make, kind):
    plain, call = made(make)
    seen = []
    list(plain.children())[-1].train()
    plain.register_forward_hook(lambda module, *_: seen.append(module))
    plain.note = {"about": "this model"}
    modes = {name: module.training for name, module in plain.named_modules()}
    model = wavify(plain, kind)
    for name, module in model.named_modules():
        parent = name.rpartition(".")[0]
        assert module.training == modes.get(name, model.get_submodule(parent).training), name
    assert model.note == plain.note
    call(model)
    assert seen == [model]


@kinds
@models
def test_the_result_can_be_copied_pickled_and_loaded(make, kind):
    plain, call = made(make)
    model = wavify(plain, kind)
    for again in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert torch.equal(call(again), call(model))
        assert not {id(p) for p in again.parameters()} & {id(p) for p in model.parameters()}
    other = wavify(made(make)[0], kind, theta_init=-5.0)
    other.load_state_dict(model.state_dict())
    assert torch.equal(call(other), call(model))


@models
def test_a_model_without_data_stays_without(make):
    plain = made(make)[0].to("meta")
    assert {parameter.device.type for parameter in wavify(plain, "light").parameters()} == {"meta"}


def _pruned(module):
    prune.l1_unstructured(module, "weight", amount=0.4)


def _normed(module):
    with pytest.warns(FutureWarning, match="weight_norm"):
        nn.utils.weight_norm(module)


@kinds
@pytest.mark.parametrize("change", [_pruned, _normed, nn.utils.parametrizations.weight_norm, nn.utils.spectral_norm])
@models
def test_weights_that_are_computed_from_parameters(make, kind, change):
    plain, call = made(make)
    for module in [module for module in plain.modules() if type(module) is nn.Linear]:
        change(module)
    call(plain)
    before, model = call(plain).detach(), wavify(plain, kind)
    call(model).square().sum().backward()
    torch.optim.SGD(model.parameters(), lr=0.1).step()
    after = call(plain)
    assert not torch.allclose(after, before)
    assert torch.allclose(call(wavify(plain, "diffusion")), after)


class Holder(nn.Module):
    """A user's model: two supported ones, the first used twice, a tied weight and a buffer."""

    def __init__(self):
        super().__init__()
        self.first = torch_encoder()[0]
        self.parts = nn.ModuleDict({"again": nn.Sequential(self.first), "second": torch_encoder(True)[0]})
        self.embed, self.head = nn.Linear(8, 8, bias=False), nn.Linear(8, 8, bias=False)
        self.head.weight = self.embed.weight
        self.register_buffer("scale", torch.tensor(0.5))

    def forward(self, x):
        return self.head(self.parts["second"](self.parts["again"](self.first(self.scale * self.embed(x)))))


@kinds
def test_all_supported_models_within_another_are_converted_each_once(kind):
    plain, call = made(lambda: (Holder(), (normal(0, 2, 5, 8),)))
    model = wavify(plain, kind, theta_init=0.5)
    assert type(model) is Holder
    assert model.head.weight is model.embed.weight is plain.embed.weight
    assert model.scale is plain.scale
    assert model.parts["again"][0] is model.first
    first, second = wavify(plain.first, kind, theta_init=0.5), wavify(plain.parts["second"], kind, theta_init=0.5)
    x = plain.scale * plain.embed(normal(0, 2, 5, 8))
    assert torch.equal(call(model), plain.head(second(first(first(x)))))
    assert len(list(model.parameters())) == len(list(plain.parameters())) + 6 * (kind in MIXED_KINDS)


class Block(nn.Module):
    """A user's own block: attention within a neighbourhood, joined by wavy."""

    def __init__(self, dim):
        super().__init__()
        self.attention = nn.Conv1d(dim, dim, 3, padding=1)
        self.residual = wavy.Residual(dim, "diffusion", form="stock")

    def forward(self, x, memory=None):
        return self.residual(x, self.attention(x.mT).mT, memory)


class Model(nn.Module):
    def __init__(self, dim, layers):
        super().__init__()
        self.blocks = nn.ModuleList(Block(dim) for _ in range(layers))

    def forward(self, x):
        memory = None
        for block in self.blocks:
            x, memory = block(x, memory)
        return x


CONVERTED = []


@wavy.converter(Model)
def convert_model(model, options):
    CONVERTED.append(model)
    for block in model.blocks:
        block.residual = options.build(block.residual.dim, like=block.attention.weight)


@kinds
def test_a_users_own_class_by_its_converter(kind):
    plain, call = made(lambda: (Model(4, 3), (normal(0, 2, 5, 4),)))
    model = wavify(nn.Sequential(plain, nn.Identity(), nn.Sequential(plain)), kind, tau=0.5, theta_init=-60)
    assert CONVERTED.pop() is model[0] is model[2][0]
    assert not CONVERTED
    assert [block.residual.kind for block in model[0].blocks] == [kind] * 3
    assert torch.allclose(call(model[0]), call(plain), rtol=1e-12) == (kind != "full")


class Derived(nn.TransformerEncoder):
    """Torch's encoder by another name."""


class Registered(nn.TransformerEncoder):
    """Another, registered by the converter of its base."""


wavy.converter(Registered)(convert)


@kinds
def test_a_derived_class_is_converted_only_where_it_is_registered(kind):
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    for model in (Derived(layer, 2), nn.Sequential(torch_encoder()[0], Derived(layer, 2))):
        with pytest.raises(TypeError, match="model: found Derived, derived from TransformerEncoder") as caught:
            wavify(model, kind)
        assert "\n" not in str(caught.value)
    plain, call = made(lambda: (Registered(layer, 2), (normal(0, 2, 5, 8),)))
    model = pickle.loads(pickle.dumps(wavify(plain, kind)))
    assert type(model) is Registered
    alike = made(lambda: (nn.TransformerEncoder(layer, 2), ()))[0]
    alike.load_state_dict(plain.state_dict())
    assert torch.equal(call(model), call(wavify(alike, kind)))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"residual": "wave"},
            ValueError,
            "residual: found 'wave', allowed diffusion, full, light",
        ),
        ({"tau": 0}, ValueError, "tau: found 0, allowed 0 < tau"),
        ({"tau": 1.0}, ValueError, "tau: found 1.0, allowed 0 < tau < 1"),
        ({"tau": "half"}, ValueError, "tau: found 'half'"),
        ({"theta_init": float("inf")}, ValueError, "theta_init: found inf, allowed a finite number"),
        ({"form": ""}, ValueError, "form: found '', allowed euler, stock"),
        ({"model": nn.Linear(2, 2)}, TypeError, "model: found Linear, allowed timm's VisionTransformer"),
        ({"model": nn.TransformerEncoderLayer(8, 2)}, TypeError, "model: found TransformerEncoderLayer, allowed"),
        ({"model": nn.TransformerEncoder}, TypeError, "model: found type, allowed"),
        ({"model": None}, TypeError, "model: found NoneType, allowed"),
    ],
)
def test_refuses_in_one_line(arguments, error, message):
    arguments = {"model": torch_encoder()[0]} | arguments
    with pytest.raises(error, match=f"^{message}") as caught:
        wavify(**arguments)
    assert "\n" not in str(caught.value)


def test_refuses_foreign_blocks_and_changes_nothing():
    plain, _ = made(timm_vit)
    plain.blocks[2] = nn.Identity()
    with pytest.raises(ValueError, match="model: found blocks of class Identity, allowed timm's Block"):
        wavify(plain)
    assert type(plain) in CONVERTERS
    assert not new_tensors(plain, made(timm_vit)[0])


def test_the_step_of_a_difformer_may_be_one():
    """Its own form, euler, allows it."""
    plain, call = made(difformer)
    assert torch.isfinite(call(wavify(plain, "light", tau=1.0))).all()
