"""What node classifiers learn by and are judged by, and the mini-batches of large graphs."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.utils import subgraph

import ogb_kit
from wavy.data import load_graph
from wavy.data.graphs.ogbn import without_module
from wavy.experiments.difformer import DifformerStudy
from wavy.experiments.difformer_run import DifformerRun
from wavy.training.batches import induced_batches
from wavy.training.difformer import train_difformer
from wavy.training.graph import prepare_graph
from wavy.training.scores import num_outputs, score, training_loss


def tasks_graph(tasks, nodes=40):
    generator = torch.Generator().manual_seed(0)
    y = torch.randint(0, 2, (nodes, tasks), generator=generator)
    y[:, 0] = 1  # one label only
    mask = torch.arange(nodes) % 4 > 0
    return Data(y=y, train_mask=mask, val_mask=~mask, test_mask=mask)


@pytest.fixture
def evaluator():
    """The benchmark's own judge of a data set."""
    with without_module("outdated"):
        return pytest.importorskip("ogb.nodeproppred").Evaluator


def test_roc_auc_is_that_of_the_open_graph_benchmark(evaluator):
    data = tasks_graph(112)
    logits = torch.randn(40, 112, generator=torch.Generator().manual_seed(1)).round(decimals=1)  # with ties
    for part in ("train", "val"):
        mask = data[f"{part}_mask"]
        expected = evaluator("ogbn-proteins").eval({"y_true": data.y[mask], "y_pred": logits[mask]})["rocauc"]
        assert score(logits, data, part, "roc_auc") == pytest.approx(expected, rel=1e-12)


def test_accuracy_is_that_of_the_open_graph_benchmark(evaluator):
    logits = torch.randn(40, 5, generator=torch.Generator().manual_seed(1))
    data = Data(y=torch.arange(40) % 5, test_mask=torch.arange(40) > 10)
    mask = data.test_mask
    predicted = {"y_true": data.y[mask, None], "y_pred": logits[mask].argmax(dim=1, keepdim=True)}
    assert score(logits, data, "test", "accuracy") == pytest.approx(
        evaluator("ogbn-arxiv").eval(predicted)["acc"], rel=1e-12
    )


def test_one_task_is_judged_by_order_alone_and_learned_by_its_logits():
    data = Data(y=torch.tensor([0, 1, 0, 1]))
    data.train_mask = data.val_mask = torch.ones(4, dtype=torch.bool)
    logits = torch.tensor([[-9.0], [0.5], [0.1], [0.2]])
    assert num_outputs(data, "roc_auc") == 1
    assert score(logits, data, "val", "roc_auc") == score(logits.exp(), data, "val", "roc_auc") == 1.0
    assert score(-logits, data, "val", "roc_auc") == 0.0
    wrong_by = torch.log1p(torch.exp(torch.tensor([-9.0, -0.5, 0.1, -0.2])))
    assert training_loss(logits, data, "roc_auc").item() == pytest.approx(wrong_by.mean().item(), rel=1e-6)
    assert score(torch.full((4, 1), float("nan")), data, "val", "roc_auc") == 0.5


def test_roc_auc_of_one_label_alone_is_refused():
    data = tasks_graph(1)
    with pytest.raises(ValueError, match=r"^val_mask: found nodes of one label in every task"):
        score(torch.zeros(40, 1), data, "val", "roc_auc")


def test_a_metric_that_does_not_fit_the_labels_is_refused():
    with pytest.raises(ValueError, match=r"^metric: found 'roc_auc' for 3 classes, allowed accuracy$"):
        num_outputs(Data(y=torch.arange(3)), "roc_auc")
    with pytest.raises(ValueError, match=r"^metric: found 'accuracy' for nodes with several labels, allowed roc_auc$"):
        num_outputs(Data(y=torch.ones(3, 2, dtype=torch.long)), "accuracy")


def random_graph(nodes=50, edges=300):
    generator = torch.Generator().manual_seed(0)
    edge_index = torch.randint(0, nodes, (2, edges), generator=generator)
    x = torch.arange(nodes)[:, None].float().repeat(1, 3) + 1
    return Data(x=x, edge_index=edge_index, y=torch.arange(nodes), train_mask=torch.arange(nodes) % 2 == 0)


@pytest.mark.parametrize("size", [1, 7, 25, 50, 80])
@pytest.mark.parametrize("sparse", [False, True])
def test_batches_share_out_the_nodes_and_are_the_subgraphs_they_induce(size, sparse):
    data = random_graph()
    x = data.x
    data.x = x.to_sparse() if sparse else x
    seen = []
    for batch in induced_batches(data, size):
        nodes = batch.y
        seen += nodes.tolist()
        assert len(nodes) == size or len(seen) == 50
        assert torch.equal(batch.x.to_dense(), x[nodes])
        assert torch.equal(batch.train_mask, data.train_mask[nodes])
        expected, _ = subgraph(nodes, data.edge_index)
        assert sorted(nodes[batch.edge_index].t().tolist()) == sorted(expected.t().tolist())
    assert sorted(seen) == list(range(50))


@pytest.mark.parametrize("size", [0, -3, 2.0])
def test_a_batch_of_no_nodes_is_refused(size):
    with pytest.raises(ValueError, match=f"size: found {size}, allowed a whole number >= 1"):
        next(induced_batches(random_graph(), size))


def test_batches_are_drawn_anew_and_follow_the_seed():
    torch.manual_seed(0)
    epochs = [[batch.y.tolist() for batch in induced_batches(random_graph(), 20)] for _ in range(2)]
    assert epochs[0] != epochs[1]
    torch.manual_seed(0)
    assert [batch.y.tolist() for batch in induced_batches(random_graph(), 20)] == epochs[0]


def digits_run(**options):
    return DifformerRun(dataset="digits", depth=2, lr=0.02, hidden_channels=16, dtype="float64", **options)


def test_mini_batches_learn_and_repeat_themselves():
    first, second = (train_difformer(digits_run(epochs=12, batch_size=300)) for _ in range(2))
    assert first.metrics == second.metrics
    assert first.metrics["test_accuracy"] > 0.6


def test_one_batch_of_all_nodes_takes_the_step_of_the_full_graph():
    full, batched = (train_difformer(digits_run(epochs=3, dropout=0.0, batch_size=size)) for size in (None, 5000))
    assert batched.history.loss.tolist() == pytest.approx(full.history.loss.tolist(), rel=1e-9)


def test_evaluation_may_skip_epochs():
    history = train_difformer(digits_run(epochs=8, eval_every=3)).history
    assert history.loss.notna().all()
    assert history.epoch[history.val_accuracy.notna()].tolist() == [1, 4, 7]


@pytest.fixture
def ogb_folder(tmp_path, monkeypatch):
    if find_spec("ogb") is None:
        pytest.skip("the package ogb is not installed")
    monkeypatch.setenv("WAVY_DATA", str(tmp_path))
    return tmp_path / "ogb"


@pytest.mark.parametrize("batch_size", [None, 25])
def test_multi_task_training_selects_by_roc_auc(ogb_folder, batch_size):
    ogb_kit.write_proteins(ogb_folder)
    setting = {"dataset": "ogbn-proteins", "split": "public", "normalize_features": False, "use_weight": True}
    run = DifformerRun(
        metric="roc_auc",
        depth=1,
        epochs=60,
        lr=1e-2,
        weight_decay=0.0,
        dropout=0.0,
        dtype="float64",
        batch_size=batch_size,
        **setting,
    )
    fit = train_difformer(run)
    assert set(fit.metrics) == {
        "train_roc_auc", "val_roc_auc", "test_roc_auc", "best_epoch", "epochs", "diverged", "train_loss",
    }  # fmt: skip
    best = fit.history.val_roc_auc.idxmax()
    assert fit.metrics["best_epoch"] == fit.history.epoch[best]
    assert fit.metrics["val_roc_auc"] == fit.history.val_roc_auc[best]
    assert fit.metrics["test_roc_auc"] > 0.8  # chance is 0.5


@pytest.mark.skipif(not Path(os.environ.get("WAVY_DATA", ""), "graphs").is_dir(), reason="WAVY_DATA has no graphs/")
def test_two_classes_are_learned_by_one_logit_and_judged_by_roc_auc():
    run = DifformerStudy(dataset="minesweeper", depths=(1,), residuals=("diffusion",), taus=(0.5,)).runs()[0]
    fit = train_difformer(run.model_copy(update={"epochs": 5, "hidden_channels": 16, "lr": 0.02}))
    assert fit.model.fcs[1].out_features == 1
    assert fit.metrics["test_roc_auc"] > 0.6  # chance is 0.5


def test_a_random_split_of_many_labels_is_refused(ogb_folder):
    ogb_kit.write_proteins(ogb_folder)
    with pytest.raises(ValueError, match=r"^split: found 'random', .*allowed public"):
        prepare_graph(load_graph("ogbn-proteins"), "random", 0)


def test_the_study_takes_the_published_setting_of_large_graphs():
    study = DifformerStudy(dataset="ogbn-proteins", scale="gpu")
    runs = study.runs()
    assert {run.depth for run in runs} == {3, 5}
    assert {run.metric for run in runs} == {"roc_auc"}
    found = {(run.lr, run.weight_decay, run.dropout, run.use_weight, run.batch_size, run.epochs) for run in runs}
    assert found == {(1e-2, 0.0, 0.0, True, 10_000, 1000)}
    assert {run.split for run in runs} == {"public"}
    assert DifformerStudy(dataset="ogbn-arxiv", depths=(2,), epochs=7).chosen("depths") == (2,)
    assert DifformerStudy(dataset="ogbn-arxiv").chosen("epochs") == 40
    assert all(run.batch_size is None for run in DifformerStudy(dataset="cora").runs())


def test_arxiv_is_learned_by_the_runs_of_the_study(ogb_folder):
    ogb_kit.write_arxiv(ogb_folder)
    runs = DifformerStudy(dataset="ogbn-arxiv", depths=(3,), residuals=("diffusion", "light"), taus=(0.5,)).runs()
    for run in runs:
        assert train_difformer(run).metrics["test_accuracy"] > 0.7  # three fields: chance is 1 / 3
