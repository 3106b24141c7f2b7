"""Under which key a notebook glues its verdict on a claim, for the chapters and for the page of all claims."""

from __future__ import annotations

import re

import pandas as pd

#: Between claim and model, where a claim is judged in several models.
IN = "_in_"
PREFIX = "claim_"


def claim_key(claim: str, where: str = "") -> str:
    """The key of a claim's verdict, in a model where there are several: letters, digits and underscores alone.

    Two underscores stand for a hyphen in the model's name, one for anything else.
    """
    return PREFIX + _word(claim) + (IN + _word(where.replace("-", "__")) if where else "")


def glue_claims(found: pd.Series, where: str = "") -> None:
    """Glue the verdicts on claims, in the notebook that judges them.

    Args:
        found: verdicts indexed by the claims' ids.
        where: the model, where a claim is judged in several.
    """
    from myst_nb import glue  # noqa: PLC0415 (of the book, which this package can do without)

    for claim, verdict in found.items():
        glue(claim_key(claim, where), str(verdict), display=False)


def verdicts_on(claim: str, glued: dict[str, str]) -> dict[str, str]:
    """The verdicts on a claim among all that a notebook has glued: model (or nothing) -> verdict."""
    key = claim_key(claim)
    found = {name.removeprefix(key): value for name, value in glued.items() if re.fullmatch(f"{key}({IN}.*)?", name)}
    return {_model(name.removeprefix(IN)): value for name, value in found.items()}


def _model(word: str) -> str:
    return word.replace("__", "-").replace("_", " ")


def _word(text: str) -> str:
    return re.sub(r"\W", "_", text)
