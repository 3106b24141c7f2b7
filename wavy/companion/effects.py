"""Published effects beside our own: one table and one figure for claims on other data, sizes or readings than ours.

A claim is about a published setting; our runs are smaller. What is compared is the *effect*, the variant minus the
baseline, and it is judged by the rule of :mod:`wavy.companion.verdicts`, always for the setting of our rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes

from wavy.companion.evidence import holm, paired_difference
from wavy.companion.verdicts import LEAST_SEEDS, verdict

#: What is told of each comparison.
COLUMNS = (
    "claim", "label", "unit", "paper", "effect", "low", "high", "seeds", "diverged", "p", "baseline", "variant",
    "verdict",
)  # fmt: skip
#: The colours of a published effect and of ours.
PAPER, OURS = "#888888", "#0072B2"


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
    """

    claim: str
    label: str
    baseline: str
    variant: str
    metric: str
    factor: float = 1.0
    relative: bool = False


def judge_effects(comparisons: Sequence[Comparison], claims: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Judge claims by our rows, p-values corrected for all of them together.

    Args:
        comparisons: what to judge, in this order.
        claims: from :func:`wavy.companion.claims.load_claims`.
        rows: one row a run, with the columns ``side`` and ``seed`` and those of the metrics; no side has a seed twice.

    Returns:
        One row a comparison: claim, label, unit; paper, the published effect; effect with the ends low and high of its
        interval, NaN where there are too few seeds; seeds, those with a value on both sides; diverged, those that both
        sides have recorded but one or both without a value; p (corrected); baseline and variant, our means over the
        seeds that are compared; verdict.
    """
    if not comparisons:
        return pd.DataFrame(columns=COLUMNS)
    table = pd.DataFrame([_measured(each, claims.loc[each.claim], rows) for each in comparisons])
    tested = table["p"].where(table["seeds"] >= LEAST_SEEDS)
    table["p"] = holm(tested.astype(float))
    table["verdict"] = [
        verdict(claims.loc[row["claim"], "direction"], abs(row["paper"]), evidence, row["p"])
        for (_, row), evidence in zip(table.iterrows(), table.pop("evidence"), strict=True)
    ]
    return table


def effects_view(table: pd.DataFrame) -> pd.DataFrame:
    """The table of :func:`judge_effects` for readers: paper, ours with its interval, unit, seeds, corrected p, verdict.

    Index is the label. Our effect has no interval where there is one seed, and is a dash where there is none. Where
    runs have diverged, a further column says in how many seeds.
    """
    shown = {
        "paper": table["paper"].map("{:+.2f}".format),
        "ours": [_ours(row) for _, row in table.iterrows()],
        "unit": table["unit"],
        "seeds": table["seeds"],
        **({"diverged": table["diverged"]} if table["diverged"].any() else {}),
        "corrected p": table["p"].map("{:.2g}".format).replace("nan", "–"),
        "verdict": table["verdict"],
    }
    return pd.DataFrame(shown).set_index(table["label"])


def _ours(row: pd.Series) -> str:
    if not row["seeds"]:
        return "–"
    interval = f" [{row['low']:+.2f}, {row['high']:+.2f}]" if row["seeds"] > 1 else ""
    return f"{row['effect']:+.2f}{interval}"


def _measured(comparison: Comparison, claim: pd.Series, rows: pd.DataFrame) -> dict[str, object]:
    sides = [_values(rows, side, comparison.metric) for side in (comparison.baseline, comparison.variant)]
    baseline, variant = (comparison.factor * values for values in sides)
    compared = baseline.dropna().index.intersection(variant.dropna().index)
    means = baseline[compared].mean(), variant[compared].mean()
    paper = claim["variant"] - claim["baseline"]
    scale = 1.0
    if comparison.relative:
        paper, scale = 100 * paper / claim["baseline"], 100 / means[0]
    evidence = paired_difference(scale * baseline, scale * variant)
    return {
        "claim": comparison.claim,
        "label": comparison.label,
        "unit": "% of baseline" if comparison.relative else claim["unit"],
        "paper": paper,
        "effect": evidence.mean,
        "low": evidence.low,
        "high": evidence.high,
        "seeds": evidence.pairs,
        "diverged": evidence.diverged,
        "p": evidence.p,
        "baseline": means[0],
        "variant": means[1],
        "evidence": evidence,
    }


def _values(rows: pd.DataFrame, side: str, metric: str) -> pd.Series:
    """The metric of a side by seed, NaN where a run has none."""
    if rows.empty or metric not in rows:
        return pd.Series(dtype=float)
    return rows[rows["side"] == side].set_index("seed")[metric].astype(float)


def draw_effects(table: pd.DataFrame, ax: Axes) -> None:
    """Draw each published effect as a diamond, and below it ours as a dot with its interval.

    Args:
        table: from :func:`judge_effects`, of one unit. Where nothing was run there is no dot; a dot of fewer seeds
            than a verdict needs is hollow, one of a single seed has no interval.
        ax: axes to draw on.
    """
    ax.axvline(0, color="#444444", linewidth=1)
    for place, (_, row) in enumerate(table.iterrows()):
        ax.plot(row["paper"], place - 0.14, marker="D", color=PAPER, ms=7, ls="")
        if row["seeds"]:
            ax.plot([row["low"], row["high"]], [place + 0.14] * 2, color=OURS, lw=1.8)
            face = OURS if row["seeds"] >= LEAST_SEEDS else "white"
            ax.plot(row["effect"], place + 0.14, marker="o", color=OURS, mfc=face, mew=1.6, ms=7, ls="")
    ax.plot([], [], marker="D", color=PAPER, ls="", label="paper")
    ax.plot([], [], marker="o", color=OURS, ls="", label="ours")
    ax.set_yticks(range(len(table)), [f"{row['label']}\n{row['verdict']}" for _, row in table.iterrows()])
    ax.set_ylim(len(table) - 0.5, -0.5)
    ax.grid(axis="y", visible=False)
