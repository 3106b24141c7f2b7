"""The rule for claims on made-up evidence, and the published numbers beside their source."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from conftest import SHARED
from wavy.companion.claims import load_claims
from wavy.companion.evidence import Evidence, holm, paired_difference, prediction_half_width, shortfall
from wavy.companion.judged_rows import judge, judge_settings
from wavy.companion.verdicts import (
    DOES_NOT_HOLD,
    HOLDS,
    INCONCLUSIVE,
    NOT_TESTED,
    judge_together,
    verdict,
)


def evidence(low, high, pairs=5, p=0.01):
    return Evidence((low + high) / 2, low, high, pairs, p)


@pytest.mark.parametrize(
    ("direction", "size", "found", "expected"),
    [
        ("up", 10, evidence(1, 30), HOLDS),
        ("up", 10, evidence(1, 2), HOLDS),
        ("up", 10, evidence(1, 2, p=0.06), INCONCLUSIVE),
        ("down", 10, evidence(-2, -1, p=0.06), INCONCLUSIVE),
        ("up", 10, evidence(-30, -1), DOES_NOT_HOLD),
        ("up", 10, evidence(-1, 4.9), DOES_NOT_HOLD),
        ("up", 10, evidence(-1, 5.1), INCONCLUSIVE),
        ("up", math.nan, evidence(-1, 1), INCONCLUSIVE),
        ("down", 10, evidence(-30, -1), HOLDS),
        ("down", 10, evidence(1, 30), DOES_NOT_HOLD),
        ("down", 10, evidence(-4.9, 1), DOES_NOT_HOLD),
        ("down", math.nan, evidence(-1, 1), INCONCLUSIVE),
        ("up", 10, evidence(1, 30, p=0.06), INCONCLUSIVE),
        ("down", math.nan, evidence(1, 30, p=0.06), INCONCLUSIVE),
        ("up", 10, evidence(-1, 4.9, p=0.9), DOES_NOT_HOLD),
        ("up", 10, evidence(1, 30, pairs=4), NOT_TESTED),
        ("up", 10, Evidence(math.nan, math.nan, math.nan, 0, math.nan), NOT_TESTED),
    ],
)
def test_the_rule(direction, size, found, expected):
    assert verdict(direction, size, found) == expected


def test_the_interval_is_students_over_seeds_that_both_have():
    baseline = pd.Series({0: 1.0, 1: 2.0, 2: 3.0, 7: 9.0})
    variant = pd.Series({2: 5.0, 1: 3.0, 0: 2.0, 8: 0.0})
    found = paired_difference(baseline, variant)
    # Differences 1, 1, 2: mean 4/3, standard error 1/3, and t = 4.3027 for two degrees of freedom.
    assert found.pairs == 3
    assert found.mean == pytest.approx(4 / 3)
    assert found.high - found.mean == pytest.approx(4.302653 / 3)
    assert found.p == pytest.approx(stats.ttest_rel([2.0, 3.0, 5.0], [1.0, 2.0, 3.0]).pvalue)


def test_seeds_without_a_value_are_counted_apart():
    baseline = pd.Series([1.0, 2.0, math.nan, math.nan, 5.0])
    variant = pd.Series([1.5, math.nan, 3.0, math.nan, 6.0, math.nan])
    found = paired_difference(baseline, variant)
    assert (found.pairs, found.mean, found.diverged, found.variant_alone) == (2, 0.75, 3, 1)
    assert paired_difference(baseline[:2], variant[1:2]).variant_alone == 1


def test_a_variant_that_alone_diverges_does_not_hold_its_claim():
    lost, both = ({"diverged": 1, "variant_alone": alone} for alone in (1, 0))
    for missing, expected in ((lost, INCONCLUSIVE), (both, HOLDS)):
        assert verdict("up", 10, replace(evidence(1, 30), **missing)) == expected
        assert verdict("up", 10, replace(evidence(-30, -1), **missing)) == DOES_NOT_HOLD
        assert verdict("up", 10, replace(evidence(1, 30, pairs=4), **missing)) == NOT_TESTED


@given(st.floats(-9, 9), st.floats(0.1, 9), st.integers(2, 9), st.sampled_from(["up", "down"]))
def test_an_effect_falls_short_where_its_interval_lies_below_half_of_the_claim(mean, half, pairs, direction):
    found = Evidence(mean, mean - half, mean + half, pairs, 0.5)
    high = mean + half if direction == "up" else half - mean
    p = shortfall(found, direction, 8.0)
    assert 0 <= p <= 1
    if abs(high - 4) > 1e-6:
        assert (p < 0.05) == (high < 4)
    assert math.isnan(shortfall(found, direction, math.nan))


def test_the_shortfall_is_the_t_test_against_half_of_the_claim():
    values = [1.0, 2.0, 2.5, 1.5, 0.5]
    found = paired_difference(pd.Series([0.0] * 5), pd.Series(values))
    assert shortfall(found, "up", 6.0) == pytest.approx(stats.ttest_1samp(values, 3.0).pvalue)
    assert shortfall(found, "up", 2.0) == 1
    assert shortfall(found, "down", 6.0) == pytest.approx(stats.ttest_1samp(values, -3.0).pvalue)


def test_claims_judged_together_are_corrected_in_both_tests():
    small = Evidence(0.0, -1.0, 4.9, 5, 0.5)
    cases = [("up", 10.0, replace(small, mean=1.95)), ("up", 10.0, Evidence(9.0, 2.0, 16.0, 5, 0.03))]
    assert [verdict(*case) for case in cases] == [DOES_NOT_HOLD, HOLDS]
    few = ("up", 10.0, Evidence(9.0, 2.0, 16.0, 4, 0.001))
    assert judge_together(cases[:1])[1] == [DOES_NOT_HOLD]
    assert judge_together([cases[0], few])[1] == [INCONCLUSIVE, NOT_TESTED]
    p, words = judge_together([*cases, few])
    assert words == [INCONCLUSIVE, INCONCLUSIVE, NOT_TESTED]
    assert p[:2] == pytest.approx([1.0, 0.09])
    assert math.isnan(p[2])


def test_without_a_published_number_there_is_no_second_test_to_correct_for():
    small, unsized = (
        ("up", 10.0, Evidence(1.95, -1.0, 4.9, 5, 0.5)),
        ("up", math.nan, Evidence(9.0, 2.0, 16.0, 5, 0.03)),
    )
    assert judge_together([small, unsized])[1] == [DOES_NOT_HOLD, INCONCLUSIVE]


def test_one_more_value_lies_in_the_prediction_interval_nineteen_times_in_twenty():
    draws = np.random.default_rng(0).normal(3.0, 2.0, (4000, 6))
    inside = [abs(row[5] - row[:5].mean()) < prediction_half_width(pd.Series(row[:5])) for row in draws]
    assert np.mean(inside) == pytest.approx(0.95, abs=0.01)
    assert math.isnan(prediction_half_width(pd.Series([1.0])))


def test_differences_without_spread_are_sure_or_nothing():
    same = pd.Series([1.0, 2.0, 3.0])
    assert paired_difference(same, same + 0.5).p == 0
    assert paired_difference(same, same).p == 1


def test_holm_corrects_as_its_steps_say():
    # Sorted 0.01, 0.02, 0.03, 0.4: times 4, 3, 2, 1, and never below an earlier one.
    found = holm(pd.Series([0.03, math.nan, 0.01, 0.4, 0.02]))
    assert found.tolist()[0] == pytest.approx(0.06)
    assert found.dropna().tolist() == pytest.approx([0.06, 0.04, 0.4, 0.06])
    assert math.isnan(found[1])
    assert holm(pd.Series([0.9, 0.8])).tolist() == [1, 1]
    # Of five tests, one without a value yet: times 5, 4, 3, 2.
    assert holm(pd.Series([0.03, math.nan, 0.01, 0.4, 0.02]), 5).dropna().tolist() == pytest.approx(
        [0.09, 0.05, 0.8, 0.08]
    )
    with pytest.raises(ValueError, match="tests: found 1, allowed 2 or more, the number of p-values"):
        holm(pd.Series([0.9, 0.8]), 1)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=8), st.data())
def test_a_later_p_value_lowers_those_of_the_others_or_leaves_them(values, data):
    late = data.draw(st.integers(0, len(values) - 1))
    p = pd.Series(values)
    before, after = holm(p.drop(late), len(p)), holm(p, len(p)).drop(late)
    assert (after <= before + 1e-12).all()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_rejects_what_bonferroni_rejects_and_nothing_that_one_test_would_not(values):
    p = pd.Series(values)
    corrected = holm(p)
    assert (corrected >= p).all()
    assert (corrected <= (len(p) * p).clip(upper=1) + 1e-12).all()


def test_a_seed_that_stands_twice_is_refused():
    once, twice = pd.Series([1.0, 2.0]), pd.Series([1.0, 2.0, 3.0], index=[0, 0, 1])
    with pytest.raises(ValueError, match="variant: found a seed twice"):
        paired_difference(once, twice)


def rows(shift, noisy=False):
    rng = np.random.default_rng(0)

    def own():  # noise that the two sides do not share
        return rng.normal(0, 0.01) if noisy else 0.0

    table = [
        {"dataset": "cora", "depth": 20, "tau": 0.2, "residual": kind, "seed": seed, "accuracy": base + noise + own()}
        for seed, noise in enumerate(rng.normal(0, 0.01, 6))
        for kind, base in (("diffusion", 0.4), ("light", 0.4 + shift))
    ]
    return pd.DataFrame(table)


def test_judge_uses_the_runs_of_the_claim_and_no_others():
    claims = load_claims("graph")
    table = judge(claims, rows(0.45), "accuracy", factor=100)
    assert table.loc["cora-20", "verdict"] == HOLDS
    assert table.loc["cora-20", "difference"].startswith("+45.0")
    assert table.loc["cora-20", "seeds"] == 6
    assert set(table["verdict"].drop("cora-20")) == {NOT_TESTED}
    assert judge(claims, rows(-0.2), "accuracy", 100).loc["cora-20", "verdict"] == DOES_NOT_HOLD
    nothing = judge(claims, pd.DataFrame(), "accuracy", 100)
    assert set(nothing["verdict"]) == {NOT_TESTED}


def test_both_sides_are_shown_over_the_seeds_that_are_compared():
    claims, table = load_claims("graph").loc[["cora-20"]], rows(0.45)
    assert "diverged" not in judge(claims, table, "accuracy", 100)
    lost = table["seed"].eq(3) & table["residual"].eq("light")
    found = judge(claims, table.assign(accuracy=table["accuracy"].mask(lost)), "accuracy", 100).iloc[0]
    alone = judge(claims, table[table["seed"] != 3], "accuracy", 100).iloc[0]
    assert (found["seeds"], found["diverged"]) == (5, 1)
    assert found["here"] == alone["here"]
    assert found["difference"] == alone["difference"]


def test_one_claim_in_several_settings_keeps_each_p_value_in_its_place():
    claim = load_claims("graph").loc[["cora-20"]]
    settings = {"small": 0.004, "none": 0.0, "large": 0.45}
    table = pd.concat([rows(shift, noisy=True).assign(setting=name) for name, shift in settings.items()])
    few = rows(0.4).query("seed < 2").assign(setting="few seeds")
    found = judge_settings(claim, pd.concat([table, few]), "accuracy", factor=100)
    assert list(found.index) == list(settings)
    alone = {name: judge(claim, own, "accuracy", 100)["p"].item() for name, own in table.groupby("setting")}
    order = sorted(settings, key=lambda name: float(alone[name]))
    assert sorted(settings, key=lambda name: float(found.loc[name, "p"])) == order
    assert order[0] == "large"
    assert found.loc["large", "verdict"] == HOLDS


def test_claims_carry_the_published_numbers():
    source = SHARED / "facts" / "claims.csv"
    if not source.exists():
        pytest.skip("the facts are not at hand: claims.csv (set WAVY_SHARED)")
    facts, ours = pd.read_csv(source, index_col="id"), load_claims()
    numbers = ["baseline", "baseline_std", "variant", "variant_std", "better", "metric", "unit", "task", "model"]
    pd.testing.assert_frame_equal(ours[numbers], facts[numbers])


def test_claims_have_a_direction_that_their_numbers_show():
    claims = load_claims()
    difference = (claims["variant"] - claims["baseline"]).dropna()
    assert (claims.loc[difference.index, "direction"] == np.where(difference > 0, "up", "down")).all()
    assert claims["direction"].isin(["up", "down"]).all()
    with pytest.raises(ValueError, match="task: found 'audio', allowed cv, diagnostics"):
        load_claims("audio")
    with pytest.raises(ValueError, match="direction: found 'sideways'"):
        verdict("sideways", 1, evidence(0, 1))
