"""Node classification: splits, selection by validation data alone, and honest stops."""

from __future__ import annotations

import os

import pytest
import torch
from torch import nn
from torch_geometric.data import Data

from wavy.data import load_graph
from wavy.experiments.difformer import DifformerRun
from wavy.training.difformer import train_difformer
from wavy.training.graph import prepare_graph
from wavy.training.node import fit_node_classifier


@pytest.fixture(scope="module")
def digits():
    return prepare_graph(load_graph("digits"), "random", 0)


class Scripted(nn.Module):
    """Predicts what it was told for each epoch, so that the right selection is known."""

    def __init__(self, plan):
        super().__init__()
        self.plan, self.weight = plan, nn.Parameter(torch.ones(1))
        self.register_buffer("epoch", torch.zeros((), dtype=torch.long))

    def forward(self, x, edge_index):
        if self.training:
            self.epoch += 1
        return self.plan[max(self.epoch.item() - 1, 0)] * self.weight


def scripted(right_at):
    """A graph of 6 nodes (2 train, 2 val, 2 test) and logits right for the named parts at each epoch."""
    y = torch.tensor([0, 1] * 3)
    parts = {"train": [0, 1], "val": [2, 3], "test": [4, 5]}
    data = Data(x=torch.ones(6, 1), y=y, edge_index=torch.zeros(2, 0, dtype=torch.long))
    for name, nodes in parts.items():
        data[f"{name}_mask"] = torch.zeros(6, dtype=torch.bool).index_fill(0, torch.tensor(nodes), True)
    plan = []
    for right in right_at:
        target = y.clone()
        for name, nodes in parts.items():
            if name not in right:
                target[nodes] = 1 - target[nodes]
        plan.append(nn.functional.one_hot(target, 2).float())
    return Scripted(plan), data


def test_selects_by_validation_even_where_test_is_better():
    model, data = scripted([{"test"}, {"val"}, {"test", "train"}, {"val", "test"}])
    fit = fit_node_classifier(model, data, epochs=4, lr=1e-9, weight_decay=0.0)
    assert fit.metrics["best_epoch"] == 2
    assert (fit.metrics["val_accuracy"], fit.metrics["test_accuracy"]) == (1.0, 0.0)
    assert fit.model.epoch == 2
    assert not any("test" in column for column in fit.history.columns)


def test_patience_counts_epochs_without_a_better_validation_accuracy():
    model, data = scripted([{"val"}] + [set()] * 8)
    fit = fit_node_classifier(model, data, epochs=9, lr=1e-9, weight_decay=0.0, patience=3)
    assert fit.metrics["epochs"] == 4


def test_a_loss_that_is_not_finite_stops_and_keeps_the_last_good_epoch():
    model, data = scripted([{"val"}, {"val"}, {"val"}])
    model.plan[2] = torch.full((6, 2), float("nan"))
    fit = fit_node_classifier(model, data, epochs=3, lr=1e-9, weight_decay=0.0)
    assert (fit.metrics["diverged"], fit.metrics["epochs"], fit.metrics["val_accuracy"]) == (1, 2, 1.0)


def test_random_split_has_the_published_sizes_and_follows_the_seed(digits):
    assert digits.train_mask.sum() == 200
    assert torch.bincount(digits.y[digits.train_mask]).tolist() == [20] * 10
    assert (digits.val_mask.sum(), digits.test_mask.sum()) == (500, 1000)
    assert not (digits.train_mask & digits.val_mask).any()
    assert not (digits.test_mask & (digits.train_mask | digits.val_mask)).any()
    again = prepare_graph(load_graph("digits"), "random", 0)
    other = prepare_graph(load_graph("digits"), "random", 1)
    assert torch.equal(again.train_mask, digits.train_mask)
    assert not torch.equal(other.train_mask, digits.train_mask)


@pytest.mark.skipif("WAVY_DATA" not in os.environ, reason="WAVY_DATA is not set: uses the real Cora")
def test_public_split_is_the_one_of_the_data_set_whatever_the_seed():
    graph = load_graph("cora")
    first, second = (prepare_graph(graph, "public", seed) for seed in (0, 1))
    for part, size in (("train", 140), ("val", 500), ("test", 1000)):
        assert first[f"{part}_mask"].sum() == size
        assert torch.equal(first[f"{part}_mask"], graph[f"{part}_mask"])
        assert torch.equal(first[f"{part}_mask"], second[f"{part}_mask"])


def test_the_global_seed_is_left_alone_by_the_split():
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    prepare_graph(load_graph("digits"), "random", 0)
    assert torch.equal(torch.rand(1), expected)


def test_preparation_adds_self_loops_scales_features_and_refuses_bad_input(digits):
    nodes = digits.num_nodes
    assert (digits.edge_index[0] == digits.edge_index[1]).sum() == nodes
    assert torch.allclose(digits.x.sum(dim=1), torch.ones(nodes))
    graph = load_graph("digits")
    with pytest.raises(ValueError, match="split: found 'cv', allowed random, public"):
        prepare_graph(graph, "cv", 0)
    with pytest.raises(ValueError, match="no public split"):
        prepare_graph(graph, "public", 0)
    graph.x[3, 5] = float("nan")
    with pytest.raises(ValueError, match=r"data.x: found NaN"):
        prepare_graph(graph, "random", 0)


@pytest.mark.parametrize("residual", ["diffusion", "full", "light", "mix_full", "mix_light"])
def test_every_kind_learns_digits_and_repeats_itself(residual):
    run = DifformerRun(
        dataset="digits", residual=residual, depth=2, epochs=25, lr=0.02, hidden_channels=16, dtype="float64"
    )
    first, second = train_difformer(run), train_difformer(run)
    assert first.metrics == second.metrics
    # Ten classes of equal size: chance is 0.1.
    assert first.metrics["test_accuracy"] > 0.6
