"""A host's own layers for a state and its velocity: adapters and hooks are heeded, and every way gives the same."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parametrize, prune

from systems import normal
from wavy.hosts.pairs import activation_name, mlp_pair, norm_pair
from wavy.layers import ACTIVATIONS, velocity_norm

activations = pytest.mark.parametrize("activation", ACTIVATIONS)


class LowRank(nn.Module):
    """An adapter as those for fine-tuning: it shows the weight of what it adapts, and computes something else."""

    def __init__(self, base):
        super().__init__()
        self.base, self.down = base, nn.Parameter(normal(7, 2, base.in_features))
        self.up = nn.Parameter(normal(8, base.out_features, 2))

    @property
    def weight(self):
        return self.base.weight

    @property
    def bias(self):
        return self.base.bias

    def forward(self, x):
        return self.base(x) + x @ self.down.T @ self.up.T


class Doubled(nn.Module):
    def forward(self, weight):
        return 2 * weight


def linears():
    torch.manual_seed(0)
    return nn.Linear(4, 6).double(), nn.Linear(6, 4).double()


def derivative(first, activation, second, x, velocity):
    """FFN_v as the derivative of calling the modules."""
    phi, _ = ACTIVATIONS[activation]
    return torch.func.jvp(lambda x: second(phi(first(x))), (x,), (velocity,))


def changed(how):
    first, second = linears()
    if how == "adapter":
        first, second = LowRank(first), LowRank(second)
    elif how == "parametrization":
        parametrize.register_parametrization(first, "weight", Doubled())
    elif how == "pruning":
        prune.l1_unstructured(first, "weight", amount=0.5)
    elif how == "hook":
        first.register_forward_hook(lambda module, inputs, output: None)
    return first, second


@activations
@pytest.mark.parametrize("how", ["plain", "adapter", "parametrization", "pruning", "hook"])
def test_ffn_v_is_the_derivative_of_what_the_modules_compute(activation, how):
    first, second = changed(how)
    x, velocity = normal(1, 3, 4), normal(2, 3, 4)
    expected = derivative(first, activation, second, x, velocity)
    found = mlp_pair(x, velocity, first, activation, second)
    assert all(torch.allclose(a, b, atol=1e-12) for a, b in zip(found, expected, strict=True))


@pytest.mark.equation("eq-mlp-backward")
@activations
def test_adapters_learn_and_the_plain_way_gives_the_same_gradients_as_the_careful_one(activation):
    first, second = linears()
    x, velocity = normal(1, 3, 4).requires_grad_(), normal(2, 3, 4).requires_grad_()
    wanted = (x, velocity, *first.parameters(), *second.parameters())

    def gradients():
        dx, dv = mlp_pair(x, velocity, first, activation, second)
        return torch.autograd.grad((dx * normal(3, 3, 4) + dv * normal(4, 3, 4)).sum(), wanted)

    plain = gradients()
    calls = []
    first.register_forward_hook(lambda *_: calls.append(1))
    careful = gradients()
    assert calls
    assert all(torch.allclose(a, b, atol=1e-12) for a, b in zip(plain, careful, strict=True))
    adapted = LowRank(first)
    dx, dv = mlp_pair(x, velocity, adapted, activation, second)
    (dx + dv).sum().backward()
    assert adapted.up.grad.abs().max() > 0


@pytest.mark.parametrize("train", [False, True])
def test_dropout_after_the_activation_has_one_mask(train):
    torch.manual_seed(0)
    first, identity = nn.Linear(4, 50).double(), nn.Linear(50, 50, bias=False).double()
    nn.init.eye_(identity.weight)
    x, velocity = normal(1, 3, 4), normal(2, 3, 4)
    dropout = nn.Dropout(0.5).train(train)
    state, along = mlp_pair(x, velocity, first, "silu", identity, dropout)
    assert torch.equal(state == 0, along == 0)
    assert (state == 0).any() == train


def test_a_hook_on_a_norm_sees_the_state():
    norm, seen = nn.LayerNorm(4).double(), []
    x, velocity = normal(1, 3, 4), normal(2, 3, 4)
    plain = norm_pair(norm, x, velocity)
    norm.register_forward_hook(lambda module, inputs, output: seen.append(inputs[0]))
    hooked = norm_pair(norm, x, velocity)
    assert seen[0] is x
    assert all(torch.allclose(a, b, atol=1e-13) for a, b in zip(plain, hooked, strict=True))


def test_a_pruned_norm_is_read_after_its_hook_has_set_it():
    norm, velocity = nn.LayerNorm(4).double(), normal(2, 3, 4)
    prune.random_unstructured(norm, "weight", 0.5)
    for factor in (1.0, 3.0):
        with torch.no_grad():
            norm.weight_orig.fill_(factor)
        _, found = norm_pair(norm, normal(1, 3, 4), velocity)
        expected = velocity_norm(normal(1, 3, 4), velocity, norm.weight_mask * factor, norm.eps)
        assert torch.allclose(found, expected)
        found.sum().backward()


@pytest.mark.parametrize("how", ["forward", "subclass"])
def test_a_changed_forward_is_called(how):
    first, second = linears()
    if how == "forward":
        first.forward = lambda x: 3 * F.linear(x, first.weight)
    else:
        first.__class__ = type("Tripled", (nn.Linear,), {"forward": lambda self, x: 3 * F.linear(x, self.weight)})
    x, velocity = normal(1, 3, 4), normal(2, 3, 4)
    expected = derivative(first, "gelu", second, x, velocity)
    found = mlp_pair(x, velocity, first, "gelu", second)
    assert all(torch.allclose(a, b, atol=1e-12) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize(
    ("activation", "name"),
    [(F.relu, "relu"), (nn.ReLU(), "relu"), (F.gelu, "gelu"), (nn.GELU(), "gelu"), (nn.GELU("tanh"), "gelu_tanh")],
)
def test_activations_are_known_by_function_and_by_module(activation, name):
    assert activation_name(activation) == name


def test_an_activation_without_ffn_v_is_named():
    squared = type("SquaredReLU", (nn.ReLU,), {"forward": lambda self, x: F.relu(x) ** 2})
    patched = nn.ReLU()
    patched.forward = lambda x: x
    for activation, name in ((nn.Tanh(), "Tanh"), (squared(), "SquaredReLU"), (patched, "ReLU")):
        with pytest.raises(ValueError, match=rf"^activation: found {name}, allowed relu, gelu or silu where a velo"):
            activation_name(activation)


@activations
def test_shapes_can_be_asked_for_without_numbers(activation):
    with torch.device("meta"):
        first, second = nn.Linear(4, 6), nn.Linear(6, 4)
        x = torch.empty(2, 3, 4, requires_grad=True)
    dx, dv = mlp_pair(*norm_pair(nn.LayerNorm(4, device="meta"), x, x), first, activation, second)
    (dx + dv).sum().backward()
    assert dx.shape == dv.shape == x.grad.shape == x.shape
    assert first.weight.grad.device.type == "meta"
