"""Trained or not, and the border between: the rule, and the threshold that the recorded runs on Cora give."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavy import results
from wavy.companion.trainability import CORA, fit_threshold, trained
from wavy.data import DataUnavailable
from wavy.experiments.difformer import DifformerRun, DifformerStudy
from wavy.experiments.difformer_plans import PLANS, run, setting
from wavy.experiments.signal import THRESHOLDS, SignalStudy, prediction_of
from wavy.training.difformer import run_graph

ROWS = Path(__file__).parents[1] / "results"


def test_half_way_from_guessing_to_the_shallow_model_counts_as_trained():
    rows = pd.DataFrame({"train_accuracy": [0.2, 0.59, 0.61, 1.0]})
    assert trained(rows, guess=0.2, shallow=1.0).tolist() == [False, False, True, True]
    with pytest.raises(ValueError, match="shallow: found 0 more than guess"):
        trained(rows, guess=0.2, shallow=0.2)


@given(st.lists(st.sampled_from([0.1, 0.5, 1.0, 2.0, 7.0, 90.0]), min_size=2, max_size=20), st.data())
def test_no_threshold_has_fewer_errors(scores, data):
    success = data.draw(st.lists(st.booleans(), min_size=len(scores), max_size=len(scores)))
    frame = pd.DataFrame({"score": scores, "success": success})
    if len(set(success)) < 2:
        with pytest.raises(ValueError, match="success: found one kind only"):
            fit_threshold(frame.score, frame.success)
        return
    if len(set(scores)) < 2:
        with pytest.raises(ValueError, match="score: found one value only"):
            fit_threshold(frame.score, frame.success)
        return
    threshold = fit_threshold(frame.score, frame.success)

    def errors(at):
        return ((frame.score >= at) != frame.success).sum()

    inner = sorted(set(scores))[1:]
    assert errors(threshold) == min(errors(score) for score in inner)


def test_a_gap_is_cut_at_its_geometric_middle():
    assert fit_threshold(pd.Series([4.0, 0.5, 1.0]), pd.Series([True, False, False])) == pytest.approx(2)


def test_predictions_belong_to_their_runs():
    light = prediction_of(run("light", dataset="texas", depth=3, tau=0.2))
    assert (light.dataset, light.depth, light.tau, light.lam, light.split) == ("texas", 3, 0.2, 0.5, "public")
    assert prediction_of(run("diffusion")).lam is None
    assert prediction_of(run("light", theta_init=None, lam=0.9)).lam == 0.9
    assert set(map(prediction_of, PLANS["graphs"]())) <= set(SignalStudy().runs())


@pytest.mark.parametrize("score", list(THRESHOLDS))
def test_the_thresholds_are_those_that_cora_gives(score):
    plan = DifformerStudy(scale="cpu", dataset="cora").runs()
    scores = results.select(ROWS / "signal.jsonl", map(prediction_of, plan))
    rows = results.select(ROWS / "difformer.jsonl", plan)
    keys = ["residual", "depth", "tau", "seed"]
    assert scores[keys].equals(rows[keys])
    assert len(rows) == len(plan)
    success = trained(rows, guess=1 / 7, shallow=1.0)
    assert fit_threshold(scores[score], success) == pytest.approx(THRESHOLDS[score], rel=0.01)


def test_a_setting_is_what_differs_from_the_published_one():
    assert setting(run("light", depth=20, tau=0.2, seed=3)) == "published"
    assert setting(run("diffusion", dataset="citeseer", weight_decay=1e-2)) == "weight_decay 0.01"
    assert setting(run("light", theta_init=None, lam=0.9, use_norm=False)) == "use_norm False, lam 0.9"
    assert setting(run("light", theta_init=-8.0)) == "theta_init -8"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"plan": "search"}, "scale: found 'quick' with the plan 'search', allowed cpu, gpu"),
        ({"plan": "graphs", "scale": "cpu", "dataset": "texas"}, "plan: found 'graphs' with epochs or a dataset"),
        ({"plan": "factors", "scale": "cpu", "depths": (100,)}, "plan: found no run of 'factors'"),
    ],
)
def test_plans_refuse_what_would_be_ignored(parameters, message):
    with pytest.raises(ValueError, match=message):
        DifformerStudy(**parameters)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"residual": "diffusion", "lam": 0.5}, "lam: found a number, but 'diffusion' has no lambda"),
        ({"residual": "full", "theta_init": 0.0}, "theta_init: found a number, but 'full' has no lambda"),
        ({"residual": "light", "lam": 0.9, "theta_init": 0.0}, "theta_init: found a number beside lam"),
        ({"lr": float("inf")}, "finite"),
    ],
)
def test_a_run_has_one_lambda_where_there_is_one(parameters, message):
    with pytest.raises(ValueError, match=message):
        DifformerRun(**parameters)


@pytest.mark.parametrize("plan", list(PLANS))
def test_a_plan_names_each_run_once(plan):
    runs = PLANS[plan]()
    hashes = [results.run_hash(planned) for planned in runs]
    assert len(set(hashes)) == len(hashes)
    assert all(isinstance(planned, DifformerRun) for planned in runs)


def test_two_layers_fit_all_training_nodes_of_cora():
    shallow = results.select(
        ROWS / "difformer.jsonl", [run("diffusion", depth=2, tau=0.5, seed=seed) for seed in range(3)]
    )
    assert len(shallow)
    assert (shallow["train_accuracy"] == CORA["shallow"]).all()


def test_guessing_names_one_training_node_of_cora_in_seven():
    try:
        data = run_graph(run("diffusion"))
    except DataUnavailable as error:
        pytest.skip(str(error))
    counts = data.y[data.train_mask].bincount()
    assert (counts / counts.sum()).max().item() == pytest.approx(CORA["guess"])
