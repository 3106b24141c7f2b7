"""The experiment on remedies: its runs, their metrics and rows."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from wavy import results, rowfile
from wavy.experiments.remedies import ALL, RemedyRun, RemedyStudy
from wavy.remedies.models import NAMES, WITH_TAU
from wavy.sweep import sweep
from wavy.training.remedies import remedy_metrics, train_remedy

TINY = {"dataset": "digits", "depth": 2, "hidden_channels": 16, "lr": 0.02, "dtype": "float64"}


def test_deep_before_shallow_and_seeds_outermost():
    runs = RemedyStudy(scale="cpu").runs()
    assert len({results.run_hash(run) for run in runs}) == len(runs) == 3 * 3 * len(ALL)
    order = [(run.seed, run.depth) for run in runs[:: len(ALL)]]
    assert order == [(seed, depth) for seed in (0, 1, 2) for depth in (20, 8, 2)]
    assert [run.residual for run in runs[: len(ALL)]] == list(ALL)
    assert set(ALL) <= set(NAMES)


def test_every_run_has_the_budget_of_the_study_and_a_tau_where_there_is_one():
    for run in RemedyStudy(scale="cpu", residuals=NAMES, tau=0.3).runs():
        assert (run.lr, run.weight_decay, run.dropout, run.hidden_channels, run.epochs) == (1e-3, 1e-2, 0.2, 64, 500)
        assert run.tau == (0.3 if run.residual in WITH_TAU else None)
    assert {run.weight_decay for run in RemedyStudy(scale="cpu", dataset="pubmed").runs()} == {1e-4}
    assert {run.split for run in RemedyStudy(scale="cpu", dataset="texas").runs()} == {"public"}
    assert {run.metric for run in RemedyStudy(scale="cpu", dataset="tolokers").runs()} == {"roc_auc"}
    assert {run.dtype for run in RemedyStudy().runs()} == {"float64"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"residual": "batchnorm"}, "residual"),
        ({"residual": "gcn", "tau": 0.2}, "tau: found 0.2 for gcn, allowed None"),
        ({"residual": "pairnorm"}, "tau: found None for pairnorm, allowed a number"),
    ],
)
def test_refuses(options, message):
    with pytest.raises(ValidationError, match=message):
        RemedyRun(**options)


@pytest.mark.parametrize("residual", ["gcn", "appnp", "graphcon", "rezero", "pairnorm", "dropedge"])
def test_learns_digits_and_repeats_itself(residual):
    run = RemedyRun(residual=residual, tau=0.2 if residual in WITH_TAU else None, epochs=25, **TINY)
    first, second = train_remedy(run).metrics, train_remedy(run).metrics
    for name in ("epoch_seconds", "epoch_cpu_seconds"):
        assert first.pop(name) > 0 < second.pop(name)
    assert first == second
    # Ten classes of equal size: chance is 0.1.
    assert first["test_accuracy"] > 0.5


def test_metrics_count_parameters_and_one_epoch_has_no_time():
    metrics = remedy_metrics(RemedyRun(residual="mlp", epochs=1, **TINY))
    sizes = {"embedding": 64 * 16 + 16, "norm": 2 * 16, "layers": 2 * (16 * 16 + 16), "readout": 16 * 10 + 10}
    assert metrics["parameters"] == sum(sizes.values())
    assert metrics["epoch_seconds"] is metrics["epoch_cpu_seconds"] is None


def test_a_row_without_a_tau_is_written_and_read(tmp_path):
    run = RemedyRun(residual="gcnii", depth=4)
    row = results.make_row(run, "cpu", {"test_accuracy": 0.5}, 1.0, "cpu")
    assert rowfile.append(tmp_path / "remedies.jsonl", row)
    table = results.select(tmp_path / "remedies.jsonl", [run])
    assert table.loc[0, ["model", "residual", "depth", "tau"]].tolist() == ["GCNII", "gcnii", 4, None]


def test_a_sweep_tells_its_progress_with_and_without_a_tau():
    told = []
    study = RemedyStudy(residuals=("gcn", "pairnorm"), depths=(3,))
    table = sweep(study.runs(), lambda run, device: {"test_accuracy": 0.5}, scale="quick", report=told.append)
    assert table["residual"].tolist() == ["gcn", "pairnorm"]
    assert ["gcn" in told[0], "None" in told[0], "tau 0.2" in told[1]] == [True, False, True]
