"""What every remedy must do as a graph model, whatever its equation."""

from __future__ import annotations

import pytest
import torch
from pydantic import ValidationError
from torch_geometric.utils import add_self_loops, erdos_renyi_graph

from systems import normal
from wavy.dynamics import KINDS
from wavy.experiments.remedies import RemedyRun
from wavy.hosts.difformer import DIFFormer
from wavy.hosts.propagation import sparse_features
from wavy.remedies.difformer import DIFFormerVariant
from wavy.remedies.layers import NormedDiffusion
from wavy.remedies.models import MODELS, NAMES, TITLES, WITH_TAU, build_remedy, model_name

NODES = 12


def graph():
    torch.manual_seed(0)
    return add_self_loops(erdos_renyi_graph(NODES, 0.3))[0]


def remedy(name, num_layers=3, dropout=0.0):
    """A model with every parameter away from its start, so that none is without effect."""
    torch.manual_seed(1)
    model = build_remedy(name, 5, 16, 3, num_layers, dropout, tau=0.2 if name in WITH_TAU else None).double()
    for parameter in model.parameters():
        parameter.data.add_(0.05 * torch.randn_like(parameter))
    return model.eval()


@pytest.mark.parametrize("name", NAMES)
def test_dense_and_sparse_features_and_a_prepared_graph_agree(name):
    model, x, edges = remedy(name), normal(0, NODES, 5).clamp(min=0.5) - 0.5, graph()
    expected = model(x, edges)
    assert expected.shape == (NODES, 3)
    assert torch.allclose(model(sparse_features(x), edges), expected)
    assert torch.allclose(model(x, model.propagation(edges, NODES)), expected)


@pytest.mark.parametrize("name", NAMES)
def test_nodes_in_another_order_give_the_same_logits(name):
    model, x, edges = remedy(name), normal(0, NODES, 5), graph()
    order = torch.randperm(NODES, generator=torch.Generator().manual_seed(2))
    assert torch.allclose(model(x, edges)[order], model(x[order], torch.argsort(order)[edges]))


@pytest.mark.parametrize("name", NAMES)
def test_gradients_reach_every_parameter(name):
    model = remedy(name, dropout=0.2).train()
    (model(normal(0, NODES, 5), graph()) * normal(3, NODES, 3)).sum().backward()
    # Before the first layer of light wave the state has not moved: its theta there has no effect.
    idle = {"residuals.0.theta"} if name == "light" else set()
    for label, parameter in model.named_parameters():
        assert torch.isfinite(parameter.grad).all(), label
        assert (parameter.grad.abs().max() > 0) == (label not in idle), label


@pytest.mark.parametrize("name", NAMES)
def test_fifty_layers_stay_finite_in_single_precision(name):
    torch.manual_seed(1)
    model = build_remedy(name, 5, 16, 3, 50, tau=0.2 if name in WITH_TAU else None)
    assert torch.isfinite(model(normal(0, NODES, 5).float(), graph())).all()


@pytest.mark.parametrize("name", NAMES)
def test_only_the_mlp_ignores_the_graph(name):
    model, x = remedy(name), normal(0, NODES, 5)
    loops = torch.arange(NODES).repeat(2, 1)
    assert torch.allclose(model(x, graph()), model(x, loops)) == (name == "mlp")


@pytest.mark.parametrize("tau", [0.2, 0.7])
def test_diffusion_under_layer_norm_is_difformer(tau):
    """The variant's operator, input layer and readout are DIFFormer's: only the layer in between is replaced."""
    torch.manual_seed(1)
    model = DIFFormer(5, 8, 3, num_layers=3, tau=tau).double().eval()
    variant = DIFFormerVariant(5, 8, 3, 3, remedy="pairnorm", tau=tau).double().eval()
    for layer, norm in enumerate(model.bns[1:]):
        plain = torch.nn.LayerNorm(8).double()
        plain.load_state_dict(norm.state_dict())
        variant.layers[layer] = NormedDiffusion(plain, tau, 0.0)
    variant.convs.load_state_dict(model.convs.state_dict())
    variant.embedding.linear.load_state_dict(model.fcs[0].state_dict())
    variant.embedding.rest[0].load_state_dict(model.bns[0].state_dict())
    variant.readout.load_state_dict(model.fcs[1].state_dict())
    assert torch.allclose(variant(normal(0, NODES, 5), graph()), model(normal(0, NODES, 5), graph()))


def test_every_remedy_has_a_title():
    assert set(TITLES) | set(KINDS) == set(NAMES)
    assert len(set(TITLES.values())) == len(TITLES)


def test_names_of_the_networks():
    assert (model_name("pairnorm"), model_name("light"), model_name("gcnii")) == ("DIFFormer", "DIFFormer", "GCNII")


@pytest.mark.parametrize(
    ("name", "sizes", "tau", "message"),
    [
        ("batchnorm", (5, 8, 3, 2), None, "name: found 'batchnorm', allowed diffusion, full"),
        ("pairnorm", (5, 8, 3, 2), None, "tau: found None for pairnorm, allowed a number"),
        ("gcn", (5, 8, 3, 2), 0.2, "tau: found 0.2 for gcn, allowed None"),
        ("gcn", (5, 8, 3, 0), None, "num_layers: found 0"),
        ("rezero", (5, 0, 3, 2), None, "hidden_channels: found 0"),
    ],
)
def test_refuses(name, sizes, tau, message):
    with pytest.raises(ValueError, match=message):
        build_remedy(name, *sizes, tau=tau)


@pytest.mark.parametrize("name", [*MODELS, "dropedge"])
def test_edge_weights_are_refused_rather_than_ignored(name):
    with pytest.raises(ValueError, match="edge_weight: found a tensor"):
        remedy(name).propagation(graph(), NODES, torch.ones(graph().shape[1]))


@pytest.mark.parametrize("name", [*MODELS, "pairnorm", "rezero", "dropedge"])
def test_a_graph_that_does_not_fit_is_named(name):
    model, x = remedy(name), normal(0, NODES, 5)
    with pytest.raises(ValueError, match=rf"edge_index: found nodes 0 to \d+, allowed 0 to {NODES - 2}"):
        model(x[1:], graph())
    with pytest.raises(ValueError, match=r"edge_index: found torch.float32 .*, allowed whole numbers of shape"):
        model(x, graph().float())
    prepared = model.propagation(graph(), NODES)
    with pytest.raises(ValueError, match=f"found .*{NODES}.*, allowed .*{NODES - 1}"):
        model(x[1:], prepared)
    with pytest.raises(ValueError, match=r"found .*float64.*, allowed .*float32"):
        model.float()(x.float(), prepared)


@pytest.mark.parametrize("training", [True, False])
def test_edges_are_dropped_from_no_other_graph(training):
    model = remedy("dropedge").train(training)
    prepared = model.propagation(graph(), NODES)
    with pytest.raises(ValueError, match=f"graph: found one of {NODES} nodes, allowed {NODES + 3}"):
        model(normal(0, NODES + 3, 5), prepared)
    with pytest.raises(ValueError, match="graph: found Propagation, allowed"):
        model(normal(0, NODES, 5), prepared.whole)


@pytest.mark.parametrize("name", NAMES)
def test_small_integers_name_the_same_nodes(name):
    model, x = remedy(name), normal(0, NODES, 5)
    assert torch.allclose(model(x, graph().int()), model(x, graph()))


def test_learning_rates_are_finite():
    with pytest.raises(ValidationError, match="finite"):
        RemedyRun(lr=float("inf"))


@pytest.mark.parametrize(("name", "other"), [("gcn", "pairnorm"), ("pairnorm", "gcn")])
def test_a_graph_prepared_for_another_class_is_refused(name, other):
    prepared = remedy(other).propagation(graph(), NODES)
    with pytest.raises(ValueError, match=r"graph: found one prepared as .*, allowed \(class, nodes, type\)"):
        remedy(name)(normal(0, NODES, 5), prepared)


@pytest.mark.parametrize("name", ["pairnorm", "contranorm", "diffusion"])
@pytest.mark.parametrize("tau", [0.0, -1.0, 2.0, float("nan"), "x", True])
def test_a_step_size_outside_its_range_is_refused(name, tau):
    with pytest.raises(ValueError, match=r"^tau: found .*, allowed 0 < tau <= 1$"):
        build_remedy(name, 3, 8, 2, 2, tau=tau)
    with pytest.raises(ValidationError):
        RemedyRun(residual=name, tau=tau if isinstance(tau, float) else -1.0)
