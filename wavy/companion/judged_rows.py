"""Claims judged by results rows that stand for them by dataset, depth, tau and residual kind."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from wavy.companion.claims import as_printed
from wavy.companion.evidence import Evidence, compared_seeds, paired_difference
from wavy.companion.verdicts import LEAST_SEEDS, judge_together

#: What is told of each claim; the last only where runs have diverged.
COLUMNS = ("setting", "verdict", "paper", "here", "difference", "p", "seeds", "diverged")


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
    groups = rows.groupby("setting", sort=False)
    settings = {
        setting: own
        for setting, own in groups
        if len(compared_seeds(*_sides(only, own, metric, factor))) >= LEAST_SEEDS
    }
    found = _judge([(only, own) for own in settings.values()], metric, factor)
    return _table(found, pd.Index(settings, name=name)).drop(columns="setting")


def _judge(cases: Sequence[tuple[pd.Series, pd.DataFrame]], metric: str, factor: float) -> list[dict[str, object]]:
    """A row for each claim with the rows that it is judged by; p is corrected for all of them."""
    sides = [_sides(claim, rows, metric, factor) for claim, rows in cases]
    found = [paired_difference(*pair) for pair in sides]
    claimed = [(claim["direction"], abs(claim["variant"] - claim["baseline"])) for claim, _ in cases]
    corrected, judged = judge_together([(*each, evidence) for each, evidence in zip(claimed, found, strict=True)])
    return [
        _row(claim, pair, evidence, p, word)
        for (claim, _), pair, evidence, p, word in zip(cases, sides, found, corrected, judged, strict=True)
    ]


def _table(found: list[dict[str, object]], index: pd.Index) -> pd.DataFrame:
    table = pd.DataFrame(found, index=index, columns=COLUMNS)
    return table if table["diverged"].any() else table.drop(columns="diverged")


def _sides(claim: pd.Series, rows: pd.DataFrame, metric: str, factor: float) -> tuple[pd.Series, pd.Series]:
    kinds = (claim["baseline_kind"], claim["variant_kind"])
    baseline, variant = (factor * _values(claim, rows, kind, metric) for kind in kinds)
    return baseline, variant


def _row(
    claim: pd.Series, sides: tuple[pd.Series, pd.Series], evidence: Evidence, p: float, word: str
) -> dict[str, object]:
    found = evidence.pairs >= LEAST_SEEDS
    compared = compared_seeds(*sides)
    sides = tuple(side[compared] for side in sides)
    return {
        "setting": claim["setting"],
        "verdict": word,
        "paper": as_printed(claim),
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


def _spread(values: pd.Series) -> str:
    return f"{values.mean():.1f} ± {values.std(ddof=1):.1f}"
