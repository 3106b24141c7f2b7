"""Published effects beside our own, for claims on other data, sizes or readings than ours.

A claim is about a published setting; our runs are smaller. What is compared is the *effect*, the variant minus the
baseline, and it is judged by the rule of :mod:`wavy.companion.verdicts`, always for the setting of our rows.
:mod:`wavy.companion.effects_shown` makes a table and a figure of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from wavy.companion.evidence import compared_seeds, paired_difference
from wavy.companion.verdicts import judge_together

#: What is told of each comparison.
COLUMNS = (
    "claim", "label", "unit", "paper", "gain", "effect", "low", "high", "seeds", "diverged", "p", "baseline", "variant",
    "verdict",
)  # fmt: skip
#: In place of a verdict: what differs in nothing that the claim is about shows what chance does.
CONTROL = "control, not judged"


@dataclass(frozen=True)
class Comparison:
    """Which of our runs stand for a claim.

    Args:
        claim: its id.
        label: in words, for table and figure.
        baseline: the side of our rows that stands for the claim's baseline.
        variant: likewise.
        metric: the column of our rows.
        factor: from its unit to the one of the claim (100 for shares and per cent).
        relative: effects are per cent of the baseline, each of its own: for measures whose scale depends on the model.
        control: the two sides do not differ in what the claim is about, so it is measured but not judged.
    """

    claim: str
    label: str
    baseline: str
    variant: str
    metric: str
    factor: float = 1.0
    relative: bool = False
    control: bool = False


def judge_effects(asked: Sequence[tuple[Sequence[Comparison], pd.DataFrame]], claims: pd.DataFrame) -> pd.DataFrame:
    """Judge claims by our rows, p-values corrected for all of them together.

    Args:
        asked: what to judge, in this order, each group of comparisons with its rows: one row a run, with the columns
            ``side`` and ``seed`` and those of the metrics; no side has a seed twice.
        claims: from :func:`wavy.companion.claims.load_claims`.

    Raises:
        ValueError: an effect is asked for relative to a baseline whose mean is 0.

    Returns:
        One row a comparison: claim, label, unit (points of the claim's own scale, or % of baseline); paper, the
        published effect; gain, whether that is to the better; effect with the ends low and high of its interval, NaN
        where there are too few seeds; seeds, those with a value on both sides; diverged, those that both sides have
        recorded but one or both without a value; p (corrected, NaN where nothing is judged); baseline and variant, our
        means over the seeds that are compared; verdict.
    """
    table = [_measured(each, claims.loc[each.claim], rows) for group, rows in asked for each in group]
    if not table:
        return pd.DataFrame(columns=COLUMNS)
    table = pd.DataFrame(table)
    evidence, judged = table.pop("evidence"), ~table.pop("control")
    asked = table[judged]
    directions = claims.loc[asked["claim"], "direction"]
    p, words = judge_together(list(zip(directions, asked["paper"].abs(), evidence[judged], strict=True)))
    table["p"], table["verdict"] = math.nan, CONTROL
    table.loc[judged, "p"], table.loc[judged, "verdict"] = p, words
    return table


def _measured(comparison: Comparison, claim: pd.Series, rows: pd.DataFrame) -> dict[str, object]:
    sides = [_values(rows, side, comparison.metric) for side in (comparison.baseline, comparison.variant)]
    baseline, variant = (comparison.factor * values for values in sides)
    compared = compared_seeds(baseline, variant)
    means = baseline[compared].mean(), variant[compared].mean()
    paper = claim["variant"] - claim["baseline"]
    scale = 1.0
    if comparison.relative:
        if means[0] == 0:
            raise ValueError(f"{comparison.metric}: found a baseline of mean 0, allowed another for a relative effect")
        paper, scale = 100 * paper / claim["baseline"], 100 / means[0]
    evidence = paired_difference(scale * baseline, scale * variant)
    return {
        "claim": comparison.claim,
        "label": comparison.label,
        "unit": "% of baseline" if comparison.relative else "points",
        "paper": paper,
        "gain": (paper > 0) == (claim["better"] == "higher"),
        "effect": evidence.mean,
        "low": evidence.low,
        "high": evidence.high,
        "seeds": evidence.pairs,
        "diverged": evidence.diverged,
        "p": evidence.p,
        "baseline": means[0],
        "variant": means[1],
        "evidence": evidence,
        "control": comparison.control,
    }


def _values(rows: pd.DataFrame, side: str, metric: str) -> pd.Series:
    """The metric of a side by seed, NaN where a run has none."""
    if rows.empty or metric not in rows:
        return pd.Series(dtype=float)
    return rows[rows["side"] == side].set_index("seed")[metric].astype(float)
