"""Did a model train at all, and where is the border? The rule by which predictions are counted as hits and misses."""

from __future__ import annotations

import numpy as np
import pandas as pd

#: The share of the way from guessing to the shallow model's training accuracy that counts as trained.
HALF = 0.5
#: On Cora: seven classes with equally many training nodes, all of which two layers fit.
CORA = {"guess": 1 / 7, "shallow": 1.0}


def trained(rows: pd.DataFrame, guess: float | pd.Series, shallow: float | pd.Series) -> pd.Series:
    """Whether each run fitted its training nodes at least half as well as a shallow model of the same graph.

    Accuracy on *training* nodes tells a model that could not be trained from one that generalises badly.

    Args:
        rows: results rows, with the column train_accuracy: at the epoch that validation selected.
        guess: share of the largest class among the training nodes, for all rows or for each.
        shallow: train_accuracy of diffusion with two layers and tau = 0.5 on the same graph and split, likewise.

    Returns:
        One truth value a row.

    Raises:
        ValueError: the shallow model is no better than guessing, so that the rule says nothing.
    """
    gain = pd.Series(shallow - guess, index=rows.index)
    if not (gain > 0).all():
        raise ValueError(f"shallow: found {gain.min():g} more than guess, allowed more than nothing")
    return rows["train_accuracy"] >= guess + HALF * gain


def fit_threshold(score: pd.Series, success: pd.Series) -> float:
    """The threshold on a score with the fewest errors in telling successes (above it) from failures (below it).

    Between two neighbouring scores all thresholds are alike: the geometric mean is taken; of equally good gaps the
    widest.

    Args:
        score: positive numbers.
        success: truth values, in the same order; both kinds occur.

    Raises:
        ValueError: successes or failures only, or one score only.
    """
    success = success.astype(bool)
    if success.all() or not success.any():
        raise ValueError("success: found one kind only, allowed successes and failures")
    order = np.argsort(score.to_numpy(), kind="stable")
    values, good = score.to_numpy()[order], success.to_numpy()[order]
    # Cut i puts the i lowest scores below the threshold.
    cuts = [cut for cut in range(1, len(values)) if values[cut - 1] < values[cut]]
    if not cuts:
        raise ValueError("score: found one value only, allowed several")

    def badness(cut: int) -> tuple[int, float]:
        return good[:cut].sum() + (~good[cut:]).sum(), values[cut - 1] / values[cut]

    best = min(cuts, key=badness)
    return float(np.sqrt(values[best - 1] * values[best]))
