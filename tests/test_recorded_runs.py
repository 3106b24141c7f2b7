"""Rows read back as the runs that they tell of: those of the project, and rows that something has changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from wavy import rowfile
from wavy.companion.recorded_runs import RUNS, run_of
from wavy.experiments import EXPERIMENTS
from wavy.results import make_row
from wavy.training.runners import RUNNERS

RESULTS = Path(__file__).parents[1] / "results"


def example(name):
    """A row of an experiment, and the run that it tells of."""
    run = EXPERIMENTS[name](scale="cpu").runs()[1]
    return make_row(run, "cpu", {"score": 1.0}, 1.0, "cpu"), run


def test_every_experiment_that_runs_is_known():
    assert set(RUNS) == set(RUNNERS)


@pytest.mark.parametrize("name", RUNS)
def test_a_row_gives_its_run(name):
    row, run = example(name)
    assert run_of(row) == run


@pytest.mark.parametrize("name", RUNS)
def test_every_recorded_row_is_of_the_run_that_its_name_says(name):
    path = RESULTS / f"{name}.jsonl"
    rows = rowfile.read(path)
    for row in rows:
        run_of(row)
    assert {row["experiment"] for row in rows} <= {name}


def test_a_parameter_that_came_later_has_its_default():
    row, run = example("bert")
    assert run.start is None
    assert run_of(row | {"params": {key: value for key, value in row["params"].items() if key != "start"}}) == run


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"experiment": "berd"}, "experiment: found 'berd', allowed bert, deit"),
        ({"params_hash": "0123456789ab"}, "params_hash: found 0123456789ab, allowed [0-9a-f]{12}, that of its params"),
        ({"params": {"lr": 0.1}}, "params_hash: found "),
        ({"params": {"lr": -1.0}}, r"params: found lr -1\.0, allowed a run's \(Input should be greater than 0\)"),
        ({"params": {"width": 3}}, "params: found width 3, allowed a run's"),
        ({"params": {"residual": "full"}}, "params: found residual 'full', allowed 'light'"),
        ({"params": {"pretraining": {"heads": 3}}}, "params: found pretraining"),
    ],
)
def test_a_row_of_another_run_is_refused(changed, message):
    row, _ = example("glue")
    params = {"params": row["params"] | changed.get("params", {})}
    with pytest.raises(ValueError, match=message):
        run_of(row | changed | params)
