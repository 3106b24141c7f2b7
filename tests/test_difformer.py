"""DIFFormer: parity with the published code, operators, kernels, kinds, and what PyG users expect."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.utils import add_self_loops, dense_to_sparse, erdos_renyi_graph

from systems import normal, seeds
from wavy import official
from wavy.dynamics import KINDS, MIXED_KINDS
from wavy.hosts.attention import KERNELS
from wavy.hosts.difformer import DIFFormer
from wavy.hosts.propagation import Propagation, sparse_features

GOLDEN = ("difformer_simple_h1", "difformer_sigmoid_h1", "difformer_simple_h2")


def graph(nodes=12):
    torch.manual_seed(0)
    return add_self_loops(erdos_renyi_graph(nodes, 0.3))[0]


def model(**options):
    torch.manual_seed(1)
    return DIFFormer(5, 8, 3, **({"num_layers": 3} | options)).double().eval()


@pytest.mark.parametrize("name", GOLDEN)
@pytest.mark.equation("eq-difformer", "eq-simple-attention")
def test_equals_the_published_code(golden, name):
    reference = golden(name)
    published = official.load(reference.weights, family="difformer", **reference.meta)
    logits = published(reference.x, reference.edge_index)
    assert torch.allclose(logits, reference.logits, rtol=1e-9, atol=1e-12)
    assert published.source == reference.meta["source"]


def test_published_state_dict_of_a_saved_file(golden, tmp_path):
    reference = golden(GOLDEN[0])
    torch.save(reference.weights, tmp_path / "weights.pt")
    published = official.load(tmp_path / "weights.pt", family="difformer", **reference.meta)
    assert torch.allclose(published(reference.x, reference.edge_index), reference.logits, rtol=1e-9, atol=1e-12)


def test_official_refusals_name_every_fault():
    hparams = {"in_channels": 5, "hidden_channels": 8, "out_channels": 3, "use_weight": False}
    weights = DIFFormer(5, 8, 3).state_dict()
    weights["extra"] = weights.pop("fcs.0.bias")
    weights["bns.0.weight"] = torch.ones(9)
    with pytest.raises(ValueError, match=r"missing: fcs.0.bias; unexpected: extra; misshaped: bns.0.weight") as caught:
        official.load(weights, family="difformer", **hparams)
    assert "(9,) for (8,)" in str(caught.value)
    with pytest.raises(ValueError, match="family: found 'gcn', allowed bert, vit, difformer"):
        official.load(weights, family="gcn")
    with pytest.raises(ValueError, match="hparams: found alfa, allowed in_channels"):
        official.load(weights, family="difformer", **hparams, alfa=0.5)


@given(seeds, st.integers(1, 9), st.integers(1, 3), st.sampled_from(sorted(KERNELS)))
def test_kernels_equal_their_dense_matrix(seed, nodes, heads, kernel):
    query, key, value = (normal(seed + i, nodes, heads, 4) for i in range(3))
    if kernel == "simple":
        q, k = query / query.norm(), key / key.norm()
        weight = 1 + torch.einsum("nhd,lhd->hnl", q, k)
    else:
        weight = torch.sigmoid(torch.einsum("nhd,lhd->hnl", query, key))
    weight = weight / weight.sum(dim=-1, keepdim=True)
    assert torch.allclose(KERNELS[kernel](query, key, value), torch.einsum("hnl,lhd->nhd", weight, value))
    assert torch.allclose(KERNELS[kernel](query, key, torch.ones_like(value)), torch.ones_like(value))


@given(seeds, st.integers(1, 8), st.sampled_from(["sym", "row"]))
def test_propagation_equals_its_dense_matrix_on_directed_graphs(seed, nodes, norm):
    adjacency = (normal(seed, nodes, nodes) > 0.3).double()  # [j, i]: edge from j to i
    edge_index, _ = dense_to_sparse(adjacency)
    weight = normal(seed + 1, edge_index.shape[1]).abs()
    x = normal(seed + 2, nodes, 3).requires_grad_()
    a = torch.zeros(nodes, nodes, dtype=torch.float64)
    a[edge_index[1], edge_index[0]] = weight
    if norm == "sym":
        inverse = adjacency.sum(dim=0).rsqrt().nan_to_num(posinf=0)
        a = inverse[:, None] * a * inverse
    else:
        a = (a / a.sum(dim=1, keepdim=True)).nan_to_num()
    out = Propagation(edge_index, nodes, weight, norm, torch.float64)(x)
    assert torch.allclose(out, a @ x)
    out.square().sum().backward()
    assert torch.allclose(x.grad, 2 * a.T @ a @ x.detach())
    weight.requires_grad_()
    assert torch.autograd.gradcheck(
        lambda w: Propagation(edge_index, nodes, w, norm, torch.float64)(x), (weight + 0.1,)
    )


@pytest.mark.parametrize("norm", ["sym", "row"])
def test_propagation_has_derivatives_of_second_order(norm):
    edges, x = graph(6), normal(0, 6, 2).requires_grad_()
    weight = (normal(1, edges.shape[1]).abs() + 0.5).requires_grad_()

    def propagate(w, v):
        return Propagation(edges, 6, w, norm, torch.float64)(v)

    assert torch.autograd.gradgradcheck(propagate, (weight, x))


def test_node_numbers_in_32_bits_do_not_overflow():
    nodes = 70_000
    edges = torch.randint(nodes, (2, 1000), generator=torch.Generator().manual_seed(0))
    x = torch.randn(nodes, 1)
    wide, narrow = (Propagation(e, nodes, None, "row", torch.float32)(x) for e in (edges, edges.int()))
    assert torch.equal(wide, narrow)


@pytest.mark.parametrize("operator", ["published", "row_stochastic"])
@pytest.mark.parametrize(
    ("edges", "weight", "message"),
    [
        ([[0, 12], [1, 1]], None, "edge_index: found nodes 0 to 12, allowed 0 to 11"),
        ([[0, -1], [1, 1]], None, "edge_index: found nodes -1 to 1"),
        ([[0, 1, 2]], None, r"edge_index: found torch.int64 \(1, 3\)"),
        ([[0.0], [1.0]], None, "edge_index: found torch.float32"),
        ([[0, 1], [1, 1]], torch.ones(2, 1), r"edge_weight: found shape \(2, 1\), allowed \(2,\)"),
    ],
)
def test_bad_graphs_are_refused(operator, edges, weight, message):
    with pytest.raises(ValueError, match=message):
        model(operator=operator)(normal(0, 12, 5), torch.tensor(edges), weight)


def test_arguments_that_would_be_ignored_are_refused():
    net, x = model(), normal(0, 12, 5)
    with pytest.raises(ValueError, match="edge_index: found None"):
        net(x, None)
    with pytest.raises(ValueError, match="edge_weight: found a tensor"):
        net(x, net.propagation(graph(), 12), torch.ones(3))


def test_row_stochastic_operator_keeps_constants_and_the_published_one_does_not():
    ones = torch.ones(12, 8, dtype=torch.float64)
    for operator, keeps in (("row_stochastic", True), ("published", False)):
        net = model(operator=operator)
        ax = net.convs[0](ones, net.propagation(graph(), 12), net.graph_weight)
        assert torch.allclose(ax, ones) == keeps


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [{}, {"heads": 2, "use_weight": True, "use_source": True, "graph_weight": 0.8}])
def test_every_kind_runs_forward_and_backward(kind, options):
    net = model(residual=kind, dropout=0.2, **options).train()
    net(normal(0, 12, 5), graph()).square().sum().backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name


def test_a_standardized_readout_sees_no_common_part():
    plain, own = model(), model(standardize=True)
    own.load_state_dict(plain.state_dict())
    x = normal(0, 12, 5)
    states = []
    plain.fcs[1].register_forward_pre_hook(lambda _module, inputs: states.append(inputs[0]))
    plain(x, graph())
    (state,) = states
    expected = (state - state.mean(dim=0)) / state.std(dim=0, correction=0)
    assert torch.allclose(own(x, graph()), plain.fcs[1](expected))
    # A constant channel has no deviation to divide by.
    alone = own(normal(0, 1, 5), torch.zeros(2, 1, dtype=torch.long))
    assert torch.allclose(alone, own.fcs[1].bias.expand_as(alone))
    alone.sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in own.parameters() if p.grad is not None)


def test_a_backward_pass_within_autocast_is_that_outside():
    grads = []
    for inside in (True, False):
        net = model(dropout=0.0).float()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = net(normal(0, 12, 5).float(), graph()).float().square().sum()
            if inside:
                loss.backward()
        if not inside:
            loss.backward()
        grads.append(net.convs[0].Wq.weight.grad)
    assert torch.allclose(*grads, atol=1e-2 * grads[1].abs().max().item())


@pytest.mark.parametrize("kind", MIXED_KINDS)
def test_very_negative_theta_starts_as_diffusion(kind):
    plain, net = model(), model(residual=kind, theta_init=-60)
    missing = net.load_state_dict(plain.state_dict(), strict=False).missing_keys
    assert missing == [f"residuals.{layer}.theta" for layer in range(3)]
    x = normal(0, 12, 5)
    assert torch.allclose(net(x, graph()), plain(x, graph()), rtol=1e-12, atol=1e-12)


def test_nodes_in_another_order_give_the_same_logits():
    net, x, edges = model(residual="mix_full", operator="row_stochastic"), normal(0, 12, 5), graph()
    order = torch.randperm(12, generator=torch.Generator().manual_seed(2))
    place = torch.argsort(order)
    assert torch.allclose(net(x, edges)[order], net(x[order], place[edges]))


def test_sparse_features_prepared_graph_and_weights_agree():
    net, edges = model(residual="light"), graph()
    x = normal(0, 12, 5).clamp(min=0.5) - 0.5
    expected = net(x, edges)
    assert torch.allclose(net(sparse_features(x), edges), expected)
    assert torch.allclose(net(x, net.propagation(edges, 12)), expected)
    assert torch.allclose(net(x, edges, torch.ones(edges.shape[1]).double()), expected)
    assert not torch.allclose(net(x, edges, torch.rand(edges.shape[1]).double()), expected)


def test_a_node_without_edges_and_a_graph_without_edges():
    net, x = model(), normal(0, 12, 5)
    edges = torch.tensor([[0, 1], [1, 0]])
    assert torch.isfinite(net(x, edges)).all()
    assert torch.allclose(net(x, edges[:, :0]), model(use_graph=False)(x, edges))


def test_the_simple_kernel_never_forms_the_square_matrix():
    # With 200,000 nodes the matrix would take 160 GB in single precision.
    nodes = 200_000
    net = DIFFormer(2, 4, 2, num_layers=1)
    edges = torch.arange(nodes).repeat(2, 1)
    net(torch.randn(nodes, 2), edges).sum().backward()
    assert torch.isfinite(net.convs[0].Wq.weight.grad).all()


def test_reset_parameters_draws_anew_and_norm_can_be_left_out():
    net, x = model(residual="full"), normal(0, 12, 5)
    before = net(x, graph())
    net.reset_parameters()
    assert not torch.allclose(net(x, graph()), before)
    assert not torch.allclose(model(use_norm=False)(x, graph()), model()(x, graph()))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "softmax"}, "kernel: found 'softmax', allowed simple, sigmoid"),
        ({"operator": "mean"}, "operator: found 'mean', allowed published, row_stochastic"),
        ({"num_layers": 0}, "num_layers: found 0"),
        ({"graph_weight": 2.0}, "graph_weight: found 2.0"),
        ({"residual": "wave"}, "residual: found 'wave'"),
        ({"dropout": 1.0}, "p: found 1.0"),
    ],
)
def test_refuses(options, message):
    with pytest.raises(ValueError, match=message):
        model(**options)


@pytest.mark.parametrize(
    ("made", "found"),
    [
        (lambda edges: model(operator="row_stochastic").propagation(edges, 12), "'row', 12, torch.float64"),
        (lambda edges: model().propagation(edges, 13), "'sym', 13, torch.float64"),
        (lambda edges: model().float().propagation(edges, 12), "'sym', 12, torch.float32"),
    ],
)
def test_a_graph_prepared_for_another_model_is_refused(made, found):
    message = rf"edge_index: found .*\({found}\), allowed \('sym', 12, torch.float64\)"
    with pytest.raises(ValueError, match=message):
        model()(normal(0, 12, 5), made(graph()))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("autocast", [False, True])
def test_half_precision_is_close_to_single_precision(kind, sparse, autocast):
    net, x, edges = model(residual=kind, use_weight=True).float(), normal(0, 12, 5).float(), graph()
    expected = net(x, edges)
    if not autocast:
        net, x = net.bfloat16(), x.bfloat16()
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        found = net(sparse_features(x) if sparse else x, edges)
    assert found.dtype == torch.bfloat16
    assert torch.allclose(found.float(), expected, atol=0.1)
    found.float().square().sum().backward()
    assert all(torch.isfinite(parameter.grad).all() for parameter in net.parameters())


def test_half_precision_counts_many_neighbours():
    # In bfloat16, 256 + 1 is 256.
    edges = torch.stack([torch.arange(1000), torch.zeros(1000, dtype=torch.long)])
    mean = Propagation(edges, 1000, None, "row", torch.bfloat16)(torch.ones(1000, 1, dtype=torch.bfloat16))
    assert mean[0] == 1


@pytest.mark.parametrize("kind", KINDS)
def test_transforms_of_torch_func_see_the_same_model(kind):
    net, x, edges = model(residual=kind), normal(0, 12, 5).requires_grad_(), graph()
    prepared, direction = net.propagation(edges, 12), normal(1, 12, 5)
    expected = torch.autograd.grad(net(x, edges).square().sum(), x)[0]
    x = x.detach()
    for either in (edges, prepared):

        def loss(x, either=either):
            return net(x, either).square().sum()

        assert torch.allclose(torch.func.grad(loss)(x), expected)
        assert torch.allclose(torch.func.jvp(loss, (x,), (direction,))[1], (expected * direction).sum())
        both = torch.func.vmap(lambda x, either=either: net(x, either))(torch.stack([x, direction]))
        assert torch.allclose(both, torch.stack([net(x, either), net(direction, either)]))
