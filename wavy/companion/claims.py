"""The published claims: what the sources say, number by number, and which of our runs each one is about."""

from __future__ import annotations

from importlib.resources import files

import pandas as pd

from wavy.checks import check_choice

#: What stands in place of the numbers where a source gives none.
NO_NUMBER = "no number"


def load_claims(task: str | None = None) -> pd.DataFrame:
    """All claims, or those of one task.

    Args:
        task: ``nlp``, ``cv``, ``graph``, ``diagnostics``, ``efficiency`` or ``other``; ``None`` for all.

    Returns:
        One row a claim, indexed by its id. source, task, model, setting, metric, unit and better describe it;
        baseline and variant (with their names and standard deviations) are the published numbers, NaN where a source
        gives none; direction (``up`` or ``down``) is the way in which variant differs from baseline; dataset, depth,
        tau, baseline_kind and variant_kind say which runs the claim is about, where our runs can be. (What the paper
        calls mix (+light) for BERT is kind ``light`` here: that is the formula which it prints.)

    Raises:
        ValueError: an unknown task.
    """
    with (files("wavy.companion") / "claims.csv").open(encoding="utf-8") as file:
        claims = pd.read_csv(file, index_col="id")
    if task is None:
        return claims
    check_choice("task", task, sorted(claims["task"].unique()))
    return claims[claims["task"] == task]


def as_printed(claim: pd.Series) -> str:
    """The published numbers of a claim, "baseline → variant" with their standard deviations, all with equal decimals.

    Args:
        claim: a row of :func:`load_claims`.
    """
    if pd.isna(claim["variant"]):
        return NO_NUMBER
    sides = [[claim[side], claim[f"{side}_std"]] for side in ("baseline", "variant")]
    known = [[float(value) for value in side if not pd.isna(value)] for side in sides]
    decimals = max(_decimals(value) for side in known for value in side)
    return " → ".join(" ± ".join(f"{value:.{decimals}f}" for value in side) for side in known)


def _decimals(value: float) -> int:
    """How many decimals a number has; a table has lost the zeros at the end, which the source may have printed."""
    return len(f"{value:g}".partition(".")[2])
