"""The rule by which a claim is judged, in one place.

A claim says that a variant differs from a baseline in one direction. Our evidence is the mean, over seeds, of the
difference between two runs that share the seed and the split, with its 95 % interval (Student's t) and the p-value of
the paired t-test. Where several claims are judged together, p-values are corrected by Holm's method, since one of many
comparisons comes out by chance. The first of these that applies is the verdict:

- *not tested at this scale*: fewer than five seeds with a result of both runs;
- *holds*: the whole interval lies on the claimed side of zero, and the corrected p-value is below 0.05; but
  *inconclusive* if the variant has diverged in a seed in which the baseline has not;
- *does not hold*: the same on the other side of zero, or the whole interval lies below half of the claimed size (that
  interval is not corrected);
- *inconclusive*: anything else.

A run that has diverged has no result: the verdict is that of the other seeds. A claim that holds may still have another
size than the published one: the table shows both. Where a source reports a loss or a high variance without numbers, the
loss is what is judged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from wavy.checks import check_choice
from wavy.companion.evidence import CONFIDENCE, Evidence, holm, paired_difference

HOLDS, DOES_NOT_HOLD = "holds", "does not hold"
INCONCLUSIVE, NOT_TESTED = "inconclusive", "not tested at this scale"

LEAST_SEEDS = 5

#: The verdicts by the names under which chapters count them.
COUNTED = {"holds": HOLDS, "fails": DOES_NOT_HOLD, "open": INCONCLUSIVE, "untested": NOT_TESTED}


def verdict(direction: str, claimed_size: float, evidence: Evidence, corrected_p: float | None = None) -> str:
    """Judge a claim by the rule above.

    Args:
        direction: ``up`` or ``down``, the claimed sign of variant - baseline.
        claimed_size: the claimed ``|variant - baseline|``, NaN where the source gives no number.
        evidence: from :func:`wavy.companion.evidence.paired_difference`, in the same unit.
        corrected_p: from :func:`wavy.companion.evidence.holm`; ``None`` where this is the only claim judged.

    Returns:
        One of the four verdicts.

    Raises:
        ValueError: an unknown direction.
    """
    check_choice("direction", direction, ("up", "down"))
    if evidence.pairs < LEAST_SEEDS:
        return NOT_TESTED
    low, high = (evidence.low, evidence.high) if direction == "up" else (-evidence.high, -evidence.low)
    sure = (evidence.p if corrected_p is None else corrected_p) < 1 - CONFIDENCE
    if low > 0 and sure:
        return INCONCLUSIVE if evidence.variant_alone else HOLDS
    if (high < 0 and sure) or high < claimed_size / 2:
        return DOES_NOT_HOLD
    return INCONCLUSIVE


def counted(found: pd.Series) -> dict[str, int]:
    """How often each verdict stands in a column, under the names of ``COUNTED``."""
    return {name: int((found == verdict).sum()) for name, verdict in COUNTED.items()}


def judge(claims: pd.DataFrame, rows: pd.DataFrame, metric: str, factor: float = 1.0) -> pd.DataFrame:
    """Judge claims by results rows.

    Args:
        claims: from :func:`wavy.companion.claims.load_claims`.
        rows: from :func:`wavy.results.frame`, runs of one setting: they may differ only in dataset, residual, depth,
            tau and seed.
        metric: the column of ``rows`` that the claims are about.
        factor: from the unit of ``rows`` to that of the claims (100 for shares and per cent).

    Returns:
        One row a claim: setting, verdict, paper (baseline → variant), here (mean and standard deviation of both, over
        the seeds that are compared), difference (mean and interval), p (corrected for all claims judged here), seeds,
        and where runs have diverged, in how many seeds.
    """
    cases = [(claim, rows) for _, claim in claims.iterrows()]
    return _table(_judge(cases, metric, factor), claims.index)


def judge_settings(claim: pd.DataFrame, rows: pd.DataFrame, metric: str, factor: float = 1.0) -> pd.DataFrame:
    """Judge one claim in each of several settings that both sides share.

    Args:
        claim: one row of :func:`wavy.companion.claims.load_claims`.
        rows: results rows with a column ``setting``; within a setting as :func:`judge` wants them.
        metric: as in :func:`judge`.
        factor: as in :func:`judge`.

    Returns:
        As :func:`judge`, one row for each setting that has enough seeds; p is corrected for all of them.
    """
    ((name, only),) = claim.iterrows()
    settings = dict(iter(rows.groupby("setting", sort=False)))
    found = _judge([(only, own) for own in settings.values()], metric, factor)
    table = _table(found, pd.Index(settings, name=name)).drop(columns="setting")
    return table[table["seeds"] >= LEAST_SEEDS]


def _judge(cases: Sequence[tuple[pd.Series, pd.DataFrame]], metric: str, factor: float) -> list[dict[str, object]]:
    """A row for each claim with the rows that it is judged by; p is corrected for all of them."""
    sides = [_sides(claim, rows, metric, factor) for claim, rows in cases]
    found = [paired_difference(*pair) for pair in sides]
    tested = [evidence.p if evidence.pairs >= LEAST_SEEDS else math.nan for evidence in found]
    corrected = holm(pd.Series(tested, dtype=float))
    return [
        _row(claim, pair, evidence, p)
        for (claim, _), pair, evidence, p in zip(cases, sides, found, corrected, strict=True)
    ]


def _table(found: list[dict[str, object]], index: pd.Index) -> pd.DataFrame:
    table = pd.DataFrame(found, index=index)
    return table if table["diverged"].any() else table.drop(columns="diverged")


def _sides(claim: pd.Series, rows: pd.DataFrame, metric: str, factor: float) -> tuple[pd.Series, pd.Series]:
    kinds = (claim["baseline_kind"], claim["variant_kind"])
    baseline, variant = (factor * _values(claim, rows, kind, metric) for kind in kinds)
    return baseline, variant


def _row(claim: pd.Series, sides: tuple[pd.Series, pd.Series], evidence: Evidence, p: float) -> dict[str, object]:
    found = evidence.pairs >= LEAST_SEEDS
    compared = sides[0].dropna().index.intersection(sides[1].dropna().index)
    sides = tuple(side[compared] for side in sides)
    return {
        "setting": claim["setting"],
        "verdict": verdict(claim["direction"], abs(claim["variant"] - claim["baseline"]), evidence, p),
        "paper": _published(claim),
        "here": " → ".join(map(_spread, sides)) if found else "–",
        "difference": f"{evidence.mean:+.1f} [{evidence.low:+.1f}, {evidence.high:+.1f}]" if found else "–",
        "p": f"{p:.2g}" if found else "–",
        "seeds": evidence.pairs,
        "diverged": evidence.diverged,
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
