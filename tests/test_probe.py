"""Probes: what a state still holds, and what a readout's gradient sees of it."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from systems import normal, seeds
from wavy.diagnostics.probe import layer_states, linear_probe, readout_gradient
from wavy.hosts.difformer import DIFFormer


def two_classes(common: float, telling: float):
    """Eighty nodes: a part that all share, and a small one that tells two classes apart."""
    labels = torch.arange(80) % 2
    state = common * torch.ones(80, 3) + telling * (2.0 * labels - 1).unsqueeze(1) + 0.1 * telling * normal(0, 80, 3)
    half = torch.arange(80) < 40
    return state, labels, half


@pytest.mark.parametrize("telling", [1.0, 1e-3, 1e-6])
def test_a_probe_finds_a_signal_however_small_beside_the_common_part(telling):
    state, labels, half = two_classes(1.0, telling)
    assert linear_probe(state, labels, half, ~half) == 1


def test_a_probe_finds_nothing_where_nothing_is():
    state, _, half = two_classes(1.0, 1.0)
    assert linear_probe(state, torch.randint(2, (80,), generator=torch.Generator().manual_seed(1)), half, ~half) < 0.75


@given(seeds, st.integers(2, 9))
def test_the_parts_add_up_to_the_gradient_of_autograd(seed, nodes):
    state, readout = normal(seed, nodes, 4), normal(seed + 1, 3, 4).requires_grad_()
    labels = torch.arange(nodes) % 3
    F.cross_entropy(state @ readout.T, labels).backward()
    common, telling = readout_gradient(state, (state @ readout.T).detach(), labels)
    total = readout.grad.norm().item()
    assert abs(common - telling) - 1e-12 <= total <= common + telling + 1e-12
    # A state without a common part has one part only, and so has a state of equal nodes.
    centred = state - state.mean(dim=0)
    assert readout_gradient(centred, (centred @ readout.T).detach(), labels)[0] == pytest.approx(0, abs=1e-12)
    equal = state[:1].expand(nodes, 4)
    assert readout_gradient(equal, (equal @ readout.T).detach(), labels)[1] == pytest.approx(0, abs=1e-12)


def test_the_states_are_those_that_the_layers_give():
    model = DIFFormer(5, 8, 3, num_layers=3, dropout=0.5).train()
    edges = torch.arange(6).repeat(2, 1)
    states = layer_states(model, normal(0, 6, 5).float(), edges)
    assert len(states) == 4
    assert model.training
    assert torch.allclose(model.fcs[1](states[-1]), model.eval()(normal(0, 6, 5).float(), edges))
