"""Parts of a data set in which the classes have the shares that they have in the whole."""

from __future__ import annotations

import numpy as np

from wavy.checks import check_width


def stratified_order(labels: np.ndarray, seed: int) -> np.ndarray:
    """Order examples so that each first part, however long, has the classes in nearly their shares in the whole.

    So a smaller part lies in every larger one, and a part may be smaller than the number of classes; scikit-learn's
    split gives neither.

    Args:
        labels: (N,) whole numbers.
        seed: Of the order within a class.

    Returns:
        (N,) int64, a permutation. It depends on nothing but the arguments: numpy keeps what RandomState draws.
    """
    shuffled = np.random.RandomState(seed).permutation(len(labels))
    counts = np.bincount(labels)
    place = np.empty(len(labels))
    for label in np.flatnonzero(counts):
        members = shuffled[labels[shuffled] == label]
        place[members] = (np.arange(len(members)) + 0.5) / len(members)
    return shuffled[np.argsort(place[shuffled], kind="stable")]


def check_count(count: int, available: int) -> None:
    """Check that so many examples can be taken.

    Raises:
        ValueError: ``count`` is not a whole number from 1 to ``available``.
    """
    check_width("count", count)
    if count > available:
        raise ValueError(f"count: found {count}, allowed 1 to {available}, the number of examples")


def stratified_sample(labels: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Draw examples without replacement, the classes in their shares; a smaller sample lies in a larger one.

    Args:
        labels: (N,) whole numbers.
        count: How many, at most N.
        seed: Of the draw.

    Returns:
        (count,) int64 indices in ascending order.

    Raises:
        ValueError: ``count`` is not a whole number from 1 to N.
    """
    check_count(count, len(labels))
    return np.sort(stratified_order(labels, seed)[:count])
