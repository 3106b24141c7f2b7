"""Which examples share text: those that must stay on one side when data is split."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

#: A text of so many words ties together all sentences that contain it; a shorter one, which is in many, goes with the
#: longest alone.
TYING = 3


def text_groups(texts_a: Sequence[str], texts_b: Sequence[str] | None = None) -> np.ndarray:
    """Number the groups of examples that share text; case and spacing do not count.

    Pairs share text where they have a sentence in common, first or second. Single sentences do where one contains the
    other whole, word by word; one of fewer than three words belongs with the longest that contains it, of several as
    long with the first.

    Args:
        texts_a: N sentences, or the first of each pair.
        texts_b: the second of each pair, ``None`` for single sentences.

    Returns:
        (N,) int, from 0; the same for two examples that are tied, directly or through others.
    """
    numbers: dict[str, int] = {}
    columns = [[numbers.setdefault(normal(text), len(numbers)) for text in texts] for texts in (texts_a, texts_b or [])]
    ties = list(zip(*columns, strict=True)) if texts_b else list(_containments(numbers))
    ends = np.array(ties, dtype=np.int64).reshape(-1, 2).T
    graph = coo_array((np.ones(ends.shape[1]), tuple(ends)), shape=(len(numbers),) * 2)
    return connected_components(graph, directed=False)[1][columns[0]]


def normal(text: str) -> str:
    """A text without case, its words one space apart."""
    return " ".join(text.lower().split())


def _containments(numbers: dict[str, int]) -> Iterator[tuple[int, int]]:
    """Pairs of a text and one that contains it, by their numbers."""
    tied = set()
    for text in sorted(numbers, key=len, reverse=True):
        words = text.split()
        for start in range(len(words)):
            for end in range(start + 1, len(words) + 1):
                part = numbers.get(" ".join(words[start:end]))
                if part not in (None, numbers[text]) and (end - start >= TYING or part not in tied):
                    tied.add(part)
                    yield part, numbers[text]
