"""Evidence for a difference: paired over seeds, with its interval, its p-value, and Holm's correction of several."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Evidence:
    """Paired differences in short.

    Args:
        mean: of the differences.
        low: lower end of its interval.
        high: upper end.
        pairs: how many differences there are.
        p: p-value of the paired t-test.
        diverged: seeds that both sides have, but in which one or both are without a value.
        variant_alone: those of them in which the baseline has a value.
    """

    mean: float
    low: float
    high: float
    pairs: int
    p: float
    diverged: int = 0
    variant_alone: int = 0


def compared_seeds(baseline: pd.Series, variant: pd.Series) -> pd.Index:
    """The seeds in which both sides have a value."""
    return baseline.dropna().index.intersection(variant.dropna().index)


def paired_difference(baseline: pd.Series, variant: pd.Series) -> Evidence:
    """Mean difference variant - baseline over the seeds that both have, with its interval.

    Args:
        baseline: values indexed by seed, NaN where a run has diverged.
        variant: likewise.

    Returns:
        The evidence; its mean, interval and p are NaN where there are too few pairs for them.

    Raises:
        ValueError: a seed stands twice in one of them.
    """
    for name, values in (("baseline", baseline), ("variant", variant)):
        if not values.index.is_unique:
            raise ValueError(f"{name}: found a seed twice, allowed one value a seed")
    common = baseline.index.intersection(variant.index)
    known = baseline[common].notna()
    compared = compared_seeds(baseline, variant)
    difference = variant[compared] - baseline[compared]
    pairs = len(difference)
    missing = len(common) - pairs, int((known & variant[common].isna()).sum())
    mean = difference.mean() if pairs else math.nan
    if pairs < 2:
        return Evidence(mean, math.nan, math.nan, pairs, math.nan, *missing)
    error = difference.std(ddof=1) / np.sqrt(pairs)
    half = stats.t.ppf((1 + CONFIDENCE) / 2, pairs - 1) * error
    p = 2 * stats.t.sf(abs(mean) / error, pairs - 1) if error > 0 else float(mean == 0)
    return Evidence(mean, mean - half, mean + half, pairs, float(p), *missing)


def shortfall(evidence: Evidence, direction: str, size: float) -> float:
    """P-value of the t-test that an effect differs from half of a claimed size, where it is smaller than that; else 1.

    Without correction it is below 0.05 just where the whole interval lies below that half.

    Args:
        evidence: from :func:`paired_difference`.
        direction: ``up`` or ``down``, the claimed sign.
        size: the claimed size, NaN where there is none; the p-value is then NaN, as it is of fewer than two pairs.
    """
    if evidence.pairs < 2 or math.isnan(size):
        return math.nan
    missing = size / 2 - (evidence.mean if direction == "up" else -evidence.mean)
    error = (evidence.high - evidence.low) / 2 / stats.t.ppf((1 + CONFIDENCE) / 2, evidence.pairs - 1)
    if missing <= 0:
        return 1.0
    return float(2 * stats.t.sf(missing / error, evidence.pairs - 1)) if error > 0 else 0.0


def prediction_half_width(values: pd.Series) -> float:
    """Half of the interval around a mean in which one more value would lie, at 95 %; NaN of fewer than two values.

    ``t s sqrt(1 + 1/n)`` with the deviation s of n values and Student's t, as for normal values.
    """
    n = len(values)
    if n < 2:
        return math.nan
    return float(stats.t.ppf((1 + CONFIDENCE) / 2, n - 1) * values.std(ddof=1) * math.sqrt(1 + 1 / n))


def holm(p: pd.Series, tests: int | None = None) -> pd.Series:
    """P-values corrected for being looked at together, by Holm's step-down method; NaN is no test and stays NaN.

    Args:
        p: one value a test.
        tests: how many there are in all; those without a value are taken to be the largest, so that a value which
            comes later can only lower what is returned for the others. ``None`` counts those with a value.

    Raises:
        ValueError: two p-values have the same label, or there are more than ``tests``.

    Source: Holm, A simple sequentially rejective multiple test procedure (1979).
    """
    if not p.index.is_unique:
        raise ValueError("p: found a label twice, allowed one p-value a label")
    ordered = p.dropna().sort_values(kind="stable")
    tests = len(ordered) if tests is None else tests
    if tests < len(ordered):
        raise ValueError(f"tests: found {tests}, allowed {len(ordered)} or more, the number of p-values")
    factors = tests - np.arange(len(ordered))
    corrected = (ordered * factors).cummax().clip(upper=1)
    return corrected.reindex(p.index)
