"""Parts that share no text: which examples belong together, and how whole groups are split."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavy.data import DataUnavailable
from wavy.data.glue import load_glue
from wavy.data.shared_text import TYING, normal, text_groups
from wavy.data.strata import grouped_part
from wavy.training.glue_parts import held_out

words = st.lists(st.sampled_from("abcd"), min_size=1, max_size=6).map(" ".join)


def parted(groups):
    """The groups as a set of sets of examples."""
    return {frozenset(np.flatnonzero(groups == group).tolist()) for group in groups}


def test_pairs_with_a_sentence_in_common_are_tied_also_through_others():
    first = ["One cat.", "two dogs.", "none", "five", "same"]
    second = ["x", "one  CAT. ", "two dogs.", "six", "same"]
    assert parted(text_groups(first, second)) == {frozenset({0, 1, 2}), frozenset({3}), frozenset({4})}


def test_a_phrase_is_tied_to_all_sentences_that_contain_it_a_short_one_to_the_longest():
    texts = ["a very good film", "A  very good film indeed , yes", "not a very good film", "good", "goo", "film indeed"]
    assert parted(text_groups(texts)) == {frozenset({0, 1, 2, 3, 5}), frozenset({4})}
    texts = ["good", "so good", "good for a while"]
    assert parted(text_groups(texts)) == {frozenset({0, 2}), frozenset({1})}
    assert parted(text_groups(["b", "B ", "c"])) == {frozenset({0, 1}), frozenset({2})}


@given(st.lists(words, min_size=1, max_size=30))
def test_equal_texts_and_long_parts_share_a_group(texts):
    groups = text_groups(texts)
    for i, one in enumerate(texts):
        for j, other in enumerate(texts):
            if one == other or (len(one.split()) >= TYING and f" {one} " in f" {other} "):
                assert groups[i] == groups[j]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9)), min_size=2, max_size=80), st.floats(0.01, 0.9))
def test_a_part_holds_groups_whole_and_is_no_larger_than_asked(examples, share):
    labels, groups = np.array(examples).T
    if len(set(groups)) < 2:
        with pytest.raises(ValueError, match="groups: found 1, allowed 2 or more"):
            grouped_part(labels, groups, share, 0)
        return
    part = grouped_part(labels, groups, share, 0)
    assert not set(groups[part]) & set(groups[~part])
    assert 0 < part.sum() < len(labels)
    assert part.sum() <= max(1, round(share * len(labels)), np.bincount(groups)[np.unique(groups)].min())
    assert (part == grouped_part(labels, groups, share, 0)).all()


def test_a_part_of_single_examples_has_the_classes_in_their_shares():
    labels = np.repeat([0, 1, 2], [50, 30, 20])
    for seed in range(3):
        part = grouped_part(labels, np.arange(100), 0.1, seed)
        assert np.bincount(labels[part]).tolist() == [5, 3, 2]


@pytest.mark.parametrize("task", ["cola", "sst2", "mrpc", "stsb", "rte", "wnli"])
def test_what_is_held_out_of_a_task_shares_no_sentence_with_what_is_trained_on(task):
    try:
        data = load_glue(task, "train")
    except DataUnavailable:
        pytest.skip(f"GLUE {task} is not at hand (set WAVY_DATA)")
    data = data.sample(min(5000, len(data)), 0)
    held = held_out(data, 0.1)
    assert held.sum() == round(0.1 * len(data))
    shares = [np.bincount(data.labels[part].astype(int), minlength=6) / part.sum() for part in (held, ~held)]
    assert np.abs(shares[0] - shares[1]).max() < 0.02
    sides = [
        {
            normal(text)
            for texts in (data.texts_a, data.texts_b or [])
            for text, on in zip(texts, part, strict=False)
            if on
        }
        for part in (held, ~held)
    ]
    assert not sides[0] & sides[1]
    if data.texts_b is None:
        for parts, wholes in (sides, sides[::-1]):
            whole = "".join(f"\n {text} " for text in wholes)
            assert not [text for text in parts if len(text.split()) >= TYING and f" {text} " in whole]
