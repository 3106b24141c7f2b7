"""Published effects beside ours: the same rule as everywhere, on rows that are told which claim they stand for."""

from __future__ import annotations

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from wavy.companion import verdicts
from wavy.companion.claims import load_claims
from wavy.companion.effects import CONTROL, Comparison, judge_effects
from wavy.companion.effects_shown import draw_effects, effects_view
from wavy.companion.judged_rows import judge

CLAIMS = load_claims()


def rows(baseline, variant, metric="test_accuracy"):
    sides = {"a": baseline, "b": variant}
    return pd.DataFrame(
        [
            {"side": side, "seed": seed, metric: value}
            for side, values in sides.items()
            for seed, value in enumerate(values)
        ]
    )


def one(table):
    (row,) = table.to_dict("records")
    return row


def judged(table, claim="deit-light", metric="test_accuracy", **options):
    return one(judge_effects([([Comparison(claim, "words", "a", "b", metric, **options)], table)], CLAIMS))


def test_an_effect_is_the_mean_difference_over_seeds_in_the_unit_of_the_claim():
    found = judged(rows([0.50, 0.52, 0.51, 0.49, 0.50], [0.53, 0.54, 0.54, 0.51, 0.54]), factor=100)
    assert found["effect"] == pytest.approx(2.8)
    assert found["low"] < 2.8 < found["high"]
    assert (found["baseline"], found["variant"]) == (pytest.approx(50.4), pytest.approx(53.2))
    assert found["paper"] == pytest.approx(73.09 - 72.17)
    assert (found["seeds"], found["unit"], found["verdict"]) == (5, "points", "holds")


def test_the_verdict_is_that_of_the_common_rule():
    generator = np.random.default_rng(0)
    for shift in (0.05, 0.0, -0.05, 0.002):
        values = generator.normal(0.5, 0.01, (2, 6))
        table = rows(values[0], values[1] + shift)
        claim = CLAIMS.loc[["deit-light"]].assign(dataset="d", depth=1, tau=0.5, baseline_kind="a", variant_kind="b")
        own = table.rename(columns={"side": "residual"}).assign(dataset="d", depth=1, tau=0.5)
        expected = judge(claim, own, "test_accuracy", factor=100)["verdict"].item()
        assert judged(table, factor=100)["verdict"] == expected


def test_a_claim_of_a_fall_holds_where_ours_falls():
    better, worse = [0.6, 0.61, 0.6, 0.62, 0.6], [0.5, 0.52, 0.5, 0.51, 0.5]
    assert judged(rows(better, worse), "deit-ablate-ffnv", factor=100)["verdict"] == "holds"
    assert judged(rows(worse, better), "deit-ablate-ffnv", factor=100)["verdict"] == "does not hold"


def test_relative_effects_do_not_depend_on_the_scale_of_a_measure():
    base, other = np.array([1.0, 1.1, 0.9, 1.0, 1.0]), np.array([0.7, 0.8, 0.7, 0.75, 0.7])
    small, large = (
        judged(rows(scale * base, scale * other, "gap"), "diag-gap-full", "gap", relative=True) for scale in (1, 1000)
    )
    for name in ("effect", "low", "high", "p"):
        assert small[name] == pytest.approx(large[name])
    assert small["effect"] == pytest.approx(-27)
    assert small["paper"] == pytest.approx(100 * (0.629 - 0.836) / 0.836)
    assert (small["unit"], small["verdict"]) == ("% of baseline", "holds")


def test_few_seeds_or_none_or_no_number_are_no_test():
    assert judged(rows([0.5] * 4, [0.6] * 4))["verdict"] == verdicts.NOT_TESTED
    nothing = judged(pd.DataFrame(columns=["side", "seed"]))
    assert (nothing["seeds"], nothing["verdict"]) == (0, verdicts.NOT_TESTED)
    assert np.isnan(nothing["effect"])
    gaps = judged(rows([0.5, 0.5, 0.5, 0.5, 0.5], [0.6, None, 0.6, 0.6, 0.6]))
    assert gaps["seeds"] == 4
    assert judged(rows([0.5] * 5, [0.6] * 5), metric="unknown")["seeds"] == 0


def test_no_effect_is_relative_to_nothing():
    with pytest.raises(ValueError, match=r"^gap: found a baseline of mean 0, allowed another for a relative effect$"):
        judged(rows([-1.0, 1.0], [2.0, 3.0], "gap"), "diag-gap-full", "gap", relative=True)


def test_means_and_relative_effects_are_those_of_the_seeds_that_are_compared():
    table = rows([1.0, 1.0, 1.1, 0.9, 1.0, 100.0], [0.8, 0.8, 0.9, 0.7, 0.8], "gap")
    found = judged(table, "diag-gap-full", "gap", relative=True)
    assert (found["effect"], found["seeds"]) == (pytest.approx(-20), 5)
    assert (found["baseline"], found["variant"]) == (pytest.approx(1.0), pytest.approx(0.8))


def test_seeds_that_diverged_are_counted_and_hinder_a_claim_that_the_variant_is_better():
    better, worse = [0.60, 0.61, 0.60, 0.62, 0.60], [0.50, 0.52, 0.50, 0.51, 0.50]
    none = judge_effects([([Comparison("deit-light", "w", "a", "b", "test_accuracy")], rows(worse, better))], CLAIMS)
    assert none["diverged"].item() == 0
    assert "diverged" not in effects_view(none)
    cases = (
        ([*worse, 0.5], [*better, None], 1, "inconclusive"),
        ([*worse, None], [*better, 0.6], 1, "holds"),
        ([*worse, None], [*better, None], 1, "holds"),
        ([*better, 0.5], [*worse, None], 1, "does not hold"),
        (worse, [*better[:3], None, None], 2, verdicts.NOT_TESTED),
    )
    for baseline, variant, count, expected in cases:
        compared = Comparison("deit-light", "w", "a", "b", "test_accuracy")
        found = judge_effects([([compared], rows(baseline, variant))], CLAIMS)
        assert (found["diverged"].item(), found["verdict"].item()) == (count, expected)
        assert effects_view(found)["diverged"].item() == count


def test_nothing_to_judge_is_an_empty_table_with_the_same_columns():
    table = judge_effects([([Comparison("deit-light", "w", "a", "b", "test_accuracy")], rows([0.5], [0.6]))], CLAIMS)
    nothing = judge_effects([([], rows([0.5], [0.6]))], CLAIMS)
    assert (len(nothing), list(nothing)) == (0, list(table))
    assert list(effects_view(nothing)) == list(effects_view(table))


def test_p_values_are_corrected_for_all_that_are_judged_together():
    table = rows([0.50, 0.52, 0.51, 0.49, 0.50], [0.51, 0.54, 0.53, 0.50, 0.53])
    compared = Comparison("deit-light", "words", "a", "b", "test_accuracy", factor=100)
    alone = judge_effects([([compared], table)], CLAIMS)
    for together in ([([compared] * 2, table)], [([compared], table)] * 2):
        twice = judge_effects(together, CLAIMS)
        assert twice["p"].tolist() == pytest.approx([2 * alone["p"].item()] * 2)
    # What was not tested corrects nothing.
    unrun = Comparison("cait-full", "words", "a", "c", "test_accuracy", factor=100)
    assert judge_effects([([compared, unrun], table)], CLAIMS)["p"].iloc[0] == pytest.approx(alone["p"].item())


def test_a_control_is_measured_but_neither_judged_nor_corrected_for():
    table = rows([0.50, 0.52, 0.51, 0.49, 0.50], [0.51, 0.54, 0.53, 0.50, 0.53])
    compared = Comparison("deit-light", "words", "a", "b", "test_accuracy", factor=100)
    found = judge_effects([([compared, replace(compared, control=True)], table)], CLAIMS)
    alone = judge_effects([([compared], table)], CLAIMS)
    assert found["effect"].nunique() == 1
    assert found["verdict"].tolist() == [alone["verdict"].item(), CONTROL]
    assert found["p"].iloc[0] == alone["p"].item()
    assert np.isnan(found["p"].iloc[1])
    assert effects_view(found)["corrected p"].iloc[1] == "–"


def test_a_published_effect_is_a_gain_where_it_is_to_the_better():
    asked = ("deit-light", "deit-ablate-ffnv", "bert-ppl-full", "diag-gap-full")
    found = judge_effects([([Comparison(claim, "w", "a", "b", "x") for claim in asked], rows([1], [2]))], CLAIMS)
    changes = CLAIMS.loc[list(asked)]
    better = ((changes["variant"] > changes["baseline"]) == (changes["better"] == "higher")).tolist()
    assert found["gain"].tolist() == better == [True, False, better[2], True]


def test_measurements_without_seeds_are_judged_and_filled():
    row = {"label": "memory", "paper": 10.0, "effect": 8.0, "low": 7.0, "high": 9.0, "verdict": "holds"}
    figure, axis = plt.subplots()
    draw_effects(pd.DataFrame([row]), axis)
    (dot,) = [line for line in axis.lines if line.get_marker() == "o" and len(line.get_xdata()) == 1]
    assert dot.get_xdata()[0] == row["effect"]
    assert dot.get_markerfacecolor() == dot.get_color()
    plt.close(figure)


def test_a_figure_has_a_diamond_a_claim_and_a_dot_where_there_are_runs():
    table = rows([0.50, 0.52, 0.51, 0.49, 0.50], [0.51, 0.54, 0.53, 0.50, 0.53])
    few = table[table["seed"] < 2].replace({"side": {"a": "c", "b": "d"}})
    sides = (("a", "b"), ("c", "d"), ("e", "f"))
    compared = [Comparison("deit-light", "words", *pair, "test_accuracy", factor=100) for pair in sides]
    figure, axis = plt.subplots()
    draw_effects(judge_effects([(compared, pd.concat([table, few]))], CLAIMS), axis)
    shown = [line for line in axis.lines if len(line.get_xdata()) == 1]
    assert [line.get_marker() for line in shown] == ["D", "o", "D", "o", "D"]
    dots = [line for line in shown if line.get_marker() == "o"]
    assert [line.get_markerfacecolor() == "white" for line in dots] == [False, True]
    assert [text.get_text() for text in axis.get_yticklabels()][2] == "words\nnot tested at this scale"
    plt.close(figure)
