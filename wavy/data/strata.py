"""Parts of a data set in which the classes have the shares that they have in the whole."""

from __future__ import annotations

import numpy as np

from wavy.checks import check_whole


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
    check_whole("count", count)
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


def grouped_part(labels: np.ndarray, groups: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Choose a part that holds each group whole or not at all, the classes in their shares as well as that allows.

    Groups come in a random order. Each is taken if the part then has no more than its share of the whole and of each
    class; then, to fill the part, any that fits the whole. If all are too large, the smallest is taken.

    Args:
        labels: (N,) whole numbers.
        groups: (N,) whole numbers, one a group.
        share: of the N examples, at most, but at least one and not all.
        seed: of the order.

    Returns:
        (N,) bool, True for the part.

    Raises:
        ValueError: there is but one group.
    """
    names, members = np.unique(groups, return_inverse=True)
    if len(names) < 2:
        raise ValueError(f"groups: found {len(names)}, allowed 2 or more: all examples share text")
    counts = np.zeros((len(names), labels.max() + 1), dtype=np.int64)
    np.add.at(counts, (members, labels), 1)
    room, classes = min(max(1, round(share * len(labels))), len(labels) - 1), np.ceil(share * np.bincount(labels))
    order, taken = np.random.RandomState(seed).permutation(len(names)), np.zeros(len(names), dtype=bool)
    for stratified in (True, False):
        for group in order[~taken[order]]:
            if counts[group].sum() <= room and (not stratified or (counts[group] <= classes).all()):
                taken[group] = True
                room, classes = room - counts[group].sum(), classes - counts[group]
    if not taken.any():
        taken[order[counts.sum(axis=1)[order].argmin()]] = True
    return taken[members]
