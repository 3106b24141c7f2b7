"""Each remedy against its equation, written with dense matrices."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch_geometric.utils import add_self_loops, erdos_renyi_graph

from systems import normal, row_stochastic
from wavy.hosts.difformer import DIFFormer
from wavy.remedies import graphcon
from wavy.remedies.difformer import NORMS, DIFFormerVariant
from wavy.remedies.dropedge import DropEdge
from wavy.remedies.grand import GRAND
from wavy.remedies.graph_model import prepare
from wavy.remedies.graphcon import GraphCON
from wavy.remedies.initial_residual import APPNP, GCNII
from wavy.remedies.layers import InitialResidual, LayerScale, NormedDiffusion, ScaledBranch
from wavy.remedies.norms import ContraNorm
from wavy.remedies.pdegcn import PDEGCNDiffusion, PDEGCNWave
from wavy.remedies.plain import GAT, GCN

NODES, CHANNELS = 9, 8


def edges():
    torch.manual_seed(0)
    return add_self_loops(erdos_renyi_graph(NODES, 0.3))[0]


def symmetric_adjacency():
    """D^-1/2 A_G D^-1/2 of the graph with its self loops."""
    a = torch.zeros(NODES, NODES, dtype=torch.float64)
    a[edges()[1], edges()[0]] = 1
    scale = a.sum(dim=1).rsqrt()
    return scale[:, None] * a * scale


def prepared():
    return prepare(edges(), NODES, torch.float64)


def model(kind, num_layers=1):
    torch.manual_seed(1)
    return kind(5, CHANNELS, 3, num_layers).double().eval()


def state(seed=0):
    return normal(seed, NODES, CHANNELS)


def operator(x):
    return row_stochastic(5, NODES) @ x


def test_the_prepared_graph_is_the_normalised_one_with_its_own_self_loops_alone():
    assert torch.allclose(prepared().adjacency.to_dense(), symmetric_adjacency())
    dense = torch.zeros(NODES, NODES, dtype=torch.float64)
    dense[prepared().edge_index[1], prepared().edge_index[0]] = prepared().weight
    assert torch.allclose(dense, symmetric_adjacency())


def test_gcn_is_its_equation():
    net, a, x = model(GCN, 2), symmetric_adjacency(), state()
    first, second = net.layers.convs
    hidden = F.relu(a @ x @ first.lin.weight.T + first.bias)
    assert torch.allclose(net.evolve(x, prepared()), a @ hidden @ second.lin.weight.T + second.bias)


def test_gat_adds_no_self_loops():
    """Without any edge nothing of the nodes is left, but the bias."""
    net = model(GAT)
    nothing = prepare(edges()[:, :0], NODES, torch.float64)
    assert torch.allclose(net.evolve(state(), nothing), net.layers.convs[0].bias.expand(NODES, -1))


def test_appnp_is_its_iteration_and_ends_at_its_fixed_point():
    net, a, x = model(APPNP, 3), symmetric_adjacency(), normal(0, NODES, 5)
    start = net.readout(net.embedding(x))
    z = start
    for _ in range(3):
        z = 0.9 * a @ z + 0.1 * start
    assert torch.allclose(net(x, edges()), z)
    net.layers.K = 500
    identity = torch.eye(NODES, dtype=torch.float64)
    assert torch.allclose(net(x, edges()), 0.1 * torch.linalg.solve(identity - 0.9 * a, start))


def test_gcnii_is_its_equation():
    net, a, start = model(GCNII, 2), symmetric_adjacency(), state()
    x, identity = start, torch.eye(CHANNELS, dtype=torch.float64)
    for layer, conv in enumerate(net.layers, start=1):
        beta = math.log(0.5 / layer + 1)
        x = F.relu((0.9 * a @ x + 0.1 * start) @ ((1 - beta) * identity + beta * conv.weight1))
    assert torch.allclose(net.evolve(start, prepared()), x)


def test_one_step_of_graphcon():
    net, a, x = model(GraphCON), symmetric_adjacency(), state()
    force = F.relu(a @ x @ net.coupling.lin.weight.T + net.coupling.bias)
    velocity = x + graphcon.STEP * (force - graphcon.GAMMA * x - graphcon.ALPHA * x)
    assert torch.allclose(net.evolve(x, prepared()), x + graphcon.STEP * velocity)


def test_damped_by_one_graphcon_is_gcn(monkeypatch):
    for name in ("ALPHA", "GAMMA", "STEP"):
        monkeypatch.setattr(graphcon, name, 1.0)
    net, x, a = model(GraphCON, 4), state(), symmetric_adjacency()
    expected = x
    for _ in range(4):
        expected = F.relu(a @ expected @ net.coupling.lin.weight.T + net.coupling.bias)
    assert torch.allclose(net.evolve(x, prepared()), expected)


def gradient_matrix():
    """G: one row an edge (j, i), both directions, w_ij (x_i - x_j)."""
    (source, target), weight = edges(), prepared().weight
    g = torch.zeros(len(weight), NODES, dtype=torch.float64)
    rows = torch.arange(len(weight))
    g[rows, target] += weight
    g[rows, source] -= weight
    return g


@pytest.mark.parametrize("kind", [PDEGCNDiffusion, PDEGCNWave])
def test_pdegcn_is_its_equation(kind):
    net, g, start = model(kind, 3), gradient_matrix(), state()
    net.K.data.add_(0.3 * normal(7, *net.K.shape))
    x, previous = start, start
    for K in net.K:
        force = g.T @ F.relu(g @ x @ K.T) @ K
        x, previous = (x - force if kind is PDEGCNDiffusion else 2 * x - previous - force), x
    assert torch.allclose(net.evolve(start, prepared()), x)


@pytest.mark.parametrize("kind", [PDEGCNDiffusion, PDEGCNWave])
def test_pdegcn_with_zero_k_rests_and_with_the_identity_is_linear(kind):
    net, x = model(kind, 5), state()
    net.K.data.zero_()
    assert torch.equal(net.evolve(x, prepared()), x)
    net.K.data.copy_(torch.eye(CHANNELS))
    w = symmetric_adjacency().square()
    laplacian = torch.diag(w.sum(dim=1)) - w
    assert torch.allclose(net.force(x, net.K[0], prepared()), laplacian @ x)


def test_the_wave_of_pdegcn_keeps_its_energy_and_the_diffusion_smooths():
    w = symmetric_adjacency().square()
    laplacian = torch.diag(w.sum(dim=1)) - w

    def spread(kind):
        net = model(kind, 300)
        net.K.data.copy_(torch.eye(CHANNELS))
        x = net.evolve(state(), prepared())
        return (x * (laplacian @ x)).sum().item()

    start = (state() * (laplacian @ state())).sum().item()
    assert spread(PDEGCNDiffusion) < 1e-6 * start < 1e-3 * spread(PDEGCNWave)


def test_grand_diffuses_with_row_stochastic_attention_along_the_edges():
    net, x = model(GRAND, 3), state()
    (source, target), a = edges(), torch.zeros(8, NODES, NODES, dtype=torch.float64)
    query, key = (linear(x).view(NODES, 8, 16) for linear in (net.Wq, net.Wk))
    scores = torch.einsum("ihd,jhd->hij", query, key) / 4
    a[:, target, source] = 1
    a = torch.where(a > 0, scores, -torch.inf).softmax(dim=-1).mean(dim=0)
    assert torch.allclose(net.evolve(x, prepared()), torch.linalg.matrix_power(a, 3) @ x)
    weight = net.attention(x, edges())
    total = torch.zeros(NODES, dtype=torch.float64).index_add(0, target, weight)
    assert torch.allclose(total, torch.ones(NODES, dtype=torch.float64))


def variant(remedy, num_layers=3):
    torch.manual_seed(1)
    tau = 0.2 if remedy in NORMS else None
    return DIFFormerVariant(5, CHANNELS, 3, num_layers, remedy=remedy, tau=tau).double().eval()


def test_rezero_starts_as_the_identity_and_skipinit_does_not():
    x = normal(0, NODES, 5)
    for remedy, identity in (("rezero", True), ("skipinit", False)):
        net = variant(remedy)
        assert torch.equal(net(x, edges()), net.readout(net.embedding(x))) == identity
    assert all(layer.alpha.item() == pytest.approx(0.5) for layer in variant("skipinit", 4).layers)


def test_a_scaled_branch_is_its_equation():
    layer = ScaledBranch(0.3, 0.0).double()
    assert torch.allclose(layer(state(), operator, state(1)), state() + 0.3 * operator(state()))


@pytest.mark.parametrize(("num_layers", "start"), [(18, 0.1), (20, 1e-5), (24, 1e-5), (25, 1e-6)])
def test_layer_scale_starts_smaller_in_deeper_networks(num_layers, start):
    assert variant("layerscale", num_layers).layers[0].gamma.tolist() == pytest.approx([start] * CHANNELS)


def test_layer_scale_is_its_equation_and_ends_normalised():
    layer, x = LayerScale(CHANNELS, 2, 0.0).double(), state()
    layer.gamma.data = normal(4, CHANNELS)
    assert torch.allclose(layer(x, operator, x), x + layer.gamma * operator(F.layer_norm(x, (CHANNELS,))))
    net = variant("layerscale")
    last = net.evolve(x, net.propagation(edges(), NODES))
    assert torch.allclose(last.mean(dim=1), torch.zeros(NODES, dtype=torch.float64), atol=1e-12)


def test_the_initial_residual_is_its_equation():
    layer, x, start = InitialResidual(CHANNELS, 0.0).double(), state(), state(1)
    expected = F.layer_norm(0.9 * operator(x) + 0.1 * start, (CHANNELS,))
    assert torch.allclose(layer(x, operator, start), expected)


def test_pairnorm_keeps_the_distance_between_nodes_at_every_depth():
    """Mean squared distance over all pairs: 2 s^2 with s = 1, where diffusion alone would shrink it."""
    for num_layers in (1, 8, 30):
        net = variant("pairnorm", num_layers)
        last = net.evolve(state(), net.propagation(edges(), NODES))
        assert torch.cdist(last, last).square().mean().item() == pytest.approx(2, rel=1e-2)
    layer = NormedDiffusion(nn.Identity(), 0.2, 0.0)
    assert torch.allclose(layer(state(), operator, state()), 0.2 * operator(state()) + 0.8 * state())


def test_contranorm_is_its_equation_and_pushes_nodes_apart():
    norm, x = ContraNorm(CHANNELS).double(), state()
    unit = x / x.norm(dim=1, keepdim=True)
    pushed = x - 0.1 * torch.softmax(unit @ unit.T, dim=1) @ x
    assert torch.allclose(norm(x), F.layer_norm(pushed, (CHANNELS,)))
    alike = 5 + 0.01 * x + torch.arange(CHANNELS)

    def cosine(y):
        unit = F.normalize(y, dim=1)
        return (unit @ unit.T).mean()

    assert cosine(norm(alike)) < cosine(F.layer_norm(alike, (CHANNELS,)))


class Seen(nn.Module):
    """Keeps the graph that it is called with."""

    def propagation(self, edge_index, num_nodes):
        return "whole"

    def forward(self, x, graph):
        self.graph = graph
        return x


def test_dropedge_keeps_self_loops_and_about_half_of_the_edges_in_training_and_all_in_eval():
    torch.manual_seed(0)
    whole = add_self_loops(erdos_renyi_graph(60, 0.5))[0]
    model = DropEdge(Seen())
    model.train()(torch.ones(60, 1), whole)
    first = model.model.graph
    loops = first[0] == first[1]
    assert loops.sum() == 60
    assert (~loops).sum().item() == pytest.approx((whole.shape[1] - 60) / 2, rel=0.1)
    present = set(map(tuple, whole.T.tolist()))
    assert {*map(tuple, first.T.tolist())} <= present
    model(torch.ones(60, 1), whole)
    assert model.model.graph.shape != first.shape or not torch.equal(model.model.graph, first)
    model.eval()(torch.ones(60, 1), whole)
    assert model.model.graph == "whole"


def test_dropedge_is_difformer_in_eval_mode():
    torch.manual_seed(1)
    net = DIFFormer(5, CHANNELS, 3, num_layers=2).double()
    x = normal(0, NODES, 5)
    assert torch.equal(DropEdge(net).eval()(x, edges()), net.eval()(x, edges()))
