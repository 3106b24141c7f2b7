"""Recorded rows as tables: of a plan, averaged over seeds, with their spread and number."""

from __future__ import annotations

import pandas as pd
import pytest

from wavy.companion.recorded import by_rate, layer_cosines, mean_and_spread, minutes_a_run, recorded, spreads
from wavy.experiments.deit_plans import deit_run
from wavy.results import make_row
from wavy.rowfile import append

NAN = float("nan")
ROWS = pd.DataFrame(
    {
        "residual": ["light", "diffusion", "light", "full"],
        "depth": [24, 12, 24, 12],
        "side": ["late", "early", "late", "early"],
        "score": [1.0, 2.0, 3.0, NAN],
    }
)


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([1.0, 3.0], "2 ± 1.41 (2)"),
        ([270.8041], "270.8 (1)"),
        ([NAN, 5.0], "5 (1)"),
        ([NAN], "–"),
        ([], "–"),
        ([481_216.0, 481_216.0], "481,216 (2)"),
        ([20_000.0, 20_004.0], "20,002 ± 3 (2)"),
        ([2.0, 2.0, NAN], "2 (2)"),
    ],
)
def test_a_cell_has_mean_spread_and_number_of_seeds(values, shown):
    assert mean_and_spread(pd.Series(values, dtype=float)) == shown


def test_decimals_are_those_of_mean_and_deviation():
    assert mean_and_spread(pd.Series([40.0, 41.5, 43.0]), decimals=1) == "41.5 ± 1.5 (3)"


def test_kinds_stand_in_the_order_of_the_book_and_under_its_names():
    table = spreads(ROWS, {"score": "test score"})
    assert table["test score"].to_dict() == {"diffusion": "2 (1)", "full wave": "–", "light wave": "2 ± 1.41 (2)"}
    assert list(table.index) == ["diffusion", "full wave", "light wave"]


def test_all_else_stands_in_the_order_of_the_rows():
    assert list(spreads(ROWS, {"score": "s"}, ("side",)).index) == ["late", "early"]
    assert list(spreads(ROWS, {"score": "s"}, ("depth", "residual")).index) == [
        (24, "light wave"),
        (12, "diffusion"),
        (12, "full wave"),
    ]


def test_no_rows_give_a_line_that_says_so():
    table = spreads(ROWS.iloc[:0], {"score": "s", "seed": "t"})
    assert table.to_dict("index") == {"no run": {"s": "–", "t": "–"}}


def test_runs_that_diverged_are_counted_where_there_are_any():
    assert list(spreads(ROWS.assign(diverged=0), {"score": "s"})) == ["s"]
    table = spreads(ROWS.assign(diverged=[0, 0, 0, 1]), {"score": "s"})
    assert table["diverged"].to_dict() == {"diffusion": 0, "full wave": 1, "light wave": 0}
    by = ("depth", "residual")
    assert spreads(ROWS.assign(diverged=[1, None, 1, 0]), {"score": "s"}, by)["diverged"].tolist() == [2, 0, 0]


def test_a_plan_without_runs_is_refused():
    with pytest.raises(ValueError, match="runs: found none, allowed one or more"):
        recorded([])


def test_layers_are_numbers_in_order_and_what_a_run_lacks_is_left_out():
    keys = {"params_hash": ["a", "b"], "residual": "full", "depth": [10, 1], "seed": 0}
    states = {f"cosine_{layer}": [layer / 10, NAN if layer > 1 else 0.5] for layer in range(11)}
    long = layer_cosines(pd.DataFrame(keys | states | {"init_cosine_0": 9.0, "cosine": 8.0}))
    assert list(long[long["params_hash"] == "a"]["layer"]) == list(range(11))
    assert list(long[long["params_hash"] == "b"]["mean cosine"]) == [0.5, 0.5]
    assert layer_cosines(pd.DataFrame(keys), "init_").empty


@pytest.fixture
def layout(tmp_path, monkeypatch):
    """An empty project around the working directory."""
    monkeypatch.chdir(tmp_path)
    for folder in ("notebooks", "results"):
        (tmp_path / folder).mkdir()
    (tmp_path / "pyproject.toml").touch()
    return tmp_path


def test_only_the_rows_of_the_plan_are_read(layout, capsys):
    runs = [deit_run("cpu", residual) for residual in ("diffusion", "light", "full")]
    for run in runs[1:]:
        append(layout / "results" / "deit.jsonl", make_row(run, "cpu", {"test_accuracy": 0.5}, 1.0, "cpu"))
    assert list(recorded(runs[:2], "kinds")["residual"]) == ["light"]
    assert capsys.readouterr().out == "1 of the 2 runs of kinds are recorded\n"


def test_a_measure_by_rate_and_kind_is_missing_where_no_run_is_recorded(layout):
    runs = [deit_run("cpu", kind, lr=lr) for lr in (2e-3, 1e-3) for kind in ("full", "diffusion")]
    for run, score in zip(runs[:3], (0.5, 0.25, 0.125), strict=True):
        append(layout / "results" / "deit.jsonl", make_row(run, "cpu", {"val_accuracy": score}, 1.0, "cpu"))
    table = by_rate(runs, "val_accuracy")
    assert list(table) == ["diffusion", "full"]
    assert table["full"].to_dict() == {1e-3: 0.125, 2e-3: 0.5}
    assert table["diffusion"].dropna().to_dict() == {2e-3: 0.25}
    assert by_rate(runs, "other").isna().all(axis=None)


@pytest.mark.parametrize(("seconds", "said"), [([240.0, 899.0, 600.0], "4 to 15"), ([60.0], "1 to 1"), ([], "–")])
def test_the_shortest_and_the_longest_run_are_told_in_minutes(seconds, said):
    assert minutes_a_run(pd.DataFrame({"seconds": seconds})) == f"minutes a run, one core: {said}"
