"""The rule by which a claim is judged, in one place.

A claim says that a variant differs from a baseline in one direction. Our evidence is the mean, over seeds, of the
difference between two runs that share the seed and the split, with its 95 % interval (Student's t) and the p-value of
the paired t-test. A second t-test asks whether the effect is smaller than half of the claimed size. Where several
claims are judged together, the p-values of each test are corrected by Holm's method, since one of many comparisons
comes out by chance. All count of which a pair of runs is recorded, also with too few seeds: so their later runs cannot
undo a verdict of another. The first of these that applies is the verdict:

- *not tested at this scale*: fewer than five seeds with a result of both runs;
- *holds*: the whole interval lies on the claimed side of zero, and the corrected p-value is below 0.05; but
  *inconclusive* if the variant has diverged in a seed in which the baseline has not;
- *does not hold*: the same on the other side of zero; or the interval does not lie wholly on the claimed side, and the
  effect is smaller than half of the claimed size, with a corrected p-value below 0.05;
- *inconclusive*: anything else.

The interval is over seeds, for the one set of test examples that all runs share, and is itself not corrected. A run
that has diverged has no result: the verdict is that of the other seeds. A claim that holds may still have another size
than the published one: the table shows both. Where a source reports a loss or a high variance without numbers, the loss
is what is judged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from wavy.checks import check_choice
from wavy.companion.evidence import CONFIDENCE, Evidence, holm, shortfall

HOLDS, DOES_NOT_HOLD = "holds", "does not hold"
INCONCLUSIVE, NOT_TESTED = "inconclusive", "not tested at this scale"

LEAST_SEEDS = 5

#: The verdicts by the names under which chapters count them.
COUNTED = {"holds": HOLDS, "fails": DOES_NOT_HOLD, "open": INCONCLUSIVE, "untested": NOT_TESTED}


def judge_together(cases: Sequence[tuple[str, float, Evidence]]) -> tuple[list[float], list[str]]:
    """Judge claims by the rule above, corrected for all of them that have a pair of runs.

    Args:
        cases: of each claim its direction and size, see :func:`verdict`, and our evidence.

    Returns:
        The corrected p-values, NaN for a claim that is not tested, and the verdicts.
    """
    begun = [(*sides, evidence) for *sides, evidence in cases if evidence.pairs]
    # Where the source gives no number, there is no second test.
    sized = [size for _, size, _ in begun if not math.isnan(size)]
    judged = [evidence.pairs >= LEAST_SEEDS for *_, evidence in cases]
    first = pd.Series([evidence.p for *_, evidence in cases], dtype=float)
    second = pd.Series([shortfall(evidence, *sides) for *sides, evidence in cases], dtype=float)
    p = holm(first.where(judged), len(begun)).tolist()
    short = holm(second.where(judged), len(sized)).tolist()
    return p, [verdict(*case, *corrected) for case, *corrected in zip(cases, p, short, strict=True)]


def verdict(
    direction: str,
    claimed_size: float,
    evidence: Evidence,
    corrected_p: float | None = None,
    corrected_shortfall: float | None = None,
) -> str:
    """Judge a claim by the rule above.

    Args:
        direction: ``up`` or ``down``, the claimed sign of variant - baseline.
        claimed_size: the claimed ``|variant - baseline|``, NaN where the source gives no number.
        evidence: from :func:`wavy.companion.evidence.paired_difference`, in the same unit.
        corrected_p: of the first test, from :func:`wavy.companion.evidence.holm`; ``None`` where this is the only claim
            judged.
        corrected_shortfall: likewise of the second, :func:`wavy.companion.evidence.shortfall`.

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
    short = shortfall(evidence, direction, claimed_size) if corrected_shortfall is None else corrected_shortfall
    if low > 0:
        return HOLDS if sure and not evidence.variant_alone else INCONCLUSIVE
    if (high < 0 and sure) or short < 1 - CONFIDENCE:
        return DOES_NOT_HOLD
    return INCONCLUSIVE


def counted(found: pd.Series) -> dict[str, int]:
    """How often each verdict stands in a column, under the names of ``COUNTED``."""
    return {name: int((found == verdict).sum()) for name, verdict in COUNTED.items()}
