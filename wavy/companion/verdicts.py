"""The rule by which a claim is judged, in one place.

A claim says that a variant differs from a baseline in one direction. Our evidence is the mean, over seeds, of the
difference between two runs that share the seed and the split, with its 95 % interval (Student's t). The first of these
that applies is the verdict:

- *not tested at this scale*: fewer than three seeds with both runs;
- *holds*: the whole interval lies on the claimed side of zero;
- *does not hold*: the whole interval lies on the other side of zero, or below half of the claimed size;
- *inconclusive*: anything else.

A claim that holds may still have another size than the published one: the table shows both. Where a source reports a
loss or a high variance without numbers, the loss is what is judged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from wavy.checks import check_choice

HOLDS, DOES_NOT_HOLD = "holds", "does not hold"
INCONCLUSIVE, NOT_TESTED = "inconclusive", "not tested at this scale"

LEAST_SEEDS = 3
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Evidence:
    """Paired differences in short: mean, the ends of its interval, and the number of pairs."""

    mean: float
    low: float
    high: float
    pairs: int


def paired_difference(baseline: pd.Series, variant: pd.Series) -> Evidence:
    """Mean difference variant - baseline over the seeds that both have, with its interval.

    Args:
        baseline: values indexed by seed.
        variant: values indexed by seed.

    Returns:
        The evidence; its mean and interval are NaN where there are too few pairs for them.

    Raises:
        ValueError: a seed stands twice in one of them.
    """
    for name, values in (("baseline", baseline), ("variant", variant)):
        if not values.index.is_unique:
            raise ValueError(f"{name}: found a seed twice, allowed one value a seed")
    difference = (variant - baseline).dropna()
    pairs = len(difference)
    mean = difference.mean() if pairs else math.nan
    if pairs < 2:
        return Evidence(mean, math.nan, math.nan, pairs)
    half = stats.t.ppf((1 + CONFIDENCE) / 2, pairs - 1) * difference.std(ddof=1) / np.sqrt(pairs)
    return Evidence(mean, mean - half, mean + half, pairs)


def verdict(direction: str, claimed_size: float, evidence: Evidence) -> str:
    """Judge a claim by the rule above.

    Args:
        direction: ``up`` or ``down``, the claimed sign of variant - baseline.
        claimed_size: the claimed ``|variant - baseline|``, NaN where the source gives no number.
        evidence: from :func:`paired_difference`, in the same unit.

    Returns:
        One of the four verdicts.

    Raises:
        ValueError: an unknown direction.
    """
    check_choice("direction", direction, ("up", "down"))
    if evidence.pairs < LEAST_SEEDS:
        return NOT_TESTED
    low, high = (evidence.low, evidence.high) if direction == "up" else (-evidence.high, -evidence.low)
    if low > 0:
        return HOLDS
    if high < 0 or high < claimed_size / 2:
        return DOES_NOT_HOLD
    return INCONCLUSIVE


def judge(claims: pd.DataFrame, rows: pd.DataFrame, metric: str, factor: float = 1.0) -> pd.DataFrame:
    """Judge claims by results rows.

    Args:
        claims: from :func:`wavy.companion.claims.load_claims`.
        rows: from :func:`wavy.results.frame`, runs of one setting: they may differ only in dataset, residual, depth,
            tau and seed.
        metric: the column of ``rows`` that the claims are about.
        factor: from the unit of ``rows`` to that of the claims (100 for shares and per cent).

    Returns:
        One row a claim: setting, verdict, paper (baseline → variant), here (mean and standard deviation of both),
        difference (mean and interval), seeds.
    """
    return pd.DataFrame([_judge_one(claim, rows, metric, factor) for _, claim in claims.iterrows()], index=claims.index)


def _judge_one(claim: pd.Series, rows: pd.DataFrame, metric: str, factor: float) -> dict[str, object]:
    sides = (claim["baseline_kind"], claim["variant_kind"])
    baseline, variant = (factor * _values(claim, rows, kind, metric) for kind in sides)
    evidence = paired_difference(baseline, variant)
    found = evidence.pairs >= LEAST_SEEDS
    return {
        "setting": claim["setting"],
        "verdict": verdict(claim["direction"], abs(claim["variant"] - claim["baseline"]), evidence),
        "paper": _published(claim),
        "here": f"{_spread(baseline)} → {_spread(variant)}" if found else "–",
        "difference": f"{evidence.mean:+.1f} [{evidence.low:+.1f}, {evidence.high:+.1f}]" if found else "–",
        "seeds": evidence.pairs,
    }


def _values(claim: pd.Series, rows: pd.DataFrame, kind: str, metric: str) -> pd.Series:
    """The metric by seed of the runs that a claim is about; empty where it does not say which they are."""
    keys = {"dataset": claim["dataset"], "depth": claim["depth"], "tau": claim["tau"], "residual": kind}
    if rows.empty or pd.isna(list(keys.values())).any():
        return pd.Series(dtype=float)
    chosen = rows[np.logical_and.reduce([rows[key] == value for key, value in keys.items()])]
    return chosen.set_index("seed")[metric].astype(float)


def _published(claim: pd.Series) -> str:
    if pd.isna(claim["variant"]):
        return "no number"
    sides = ((claim["baseline"], claim["baseline_std"]), (claim["variant"], claim["variant_std"]))
    return " → ".join(f"{mean:g}" if pd.isna(std) else f"{mean:g} ± {std:g}" for mean, std in sides)


def _spread(values: pd.Series) -> str:
    return f"{values.mean():.1f} ± {values.std(ddof=1):.1f}"
