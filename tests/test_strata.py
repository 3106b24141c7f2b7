"""Parts that keep the shares of the classes, nested in each other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavy.data.strata import stratified_order, stratified_sample

labels = st.lists(st.integers(0, 4), min_size=1, max_size=120).map(np.array)


@given(labels, st.integers(0, 3))
def test_the_order_is_a_permutation_that_the_seed_alone_decides(labels, seed):
    order = stratified_order(labels, seed)
    assert sorted(order) == list(range(len(labels)))
    assert (order == stratified_order(labels, seed)).all()


@given(labels)
def test_every_first_part_has_the_classes_in_their_shares(labels):
    order = stratified_order(labels, 0)
    shares = np.bincount(labels) / len(labels)
    counts = np.cumsum(np.eye(len(shares))[labels[order]], axis=0)
    expected = np.arange(1, len(labels) + 1)[:, None] * shares
    assert np.abs(counts - expected).max() < 1 + len(shares) / 2


def test_a_rare_class_comes_neither_first_nor_last():
    labels = np.array([0] * 90 + [1] * 10)
    assert np.flatnonzero(labels[stratified_order(labels, 0)]) == pytest.approx(np.arange(4.5, 100, 10), abs=0.5)


def test_classes_of_one_size_are_level_after_every_round():
    labels = np.repeat(np.arange(10), 50)
    order = labels[stratified_order(labels, 0)]
    assert (np.sort(order.reshape(50, 10), axis=1) == np.arange(10)).all()
    assert len({tuple(part) for part in order.reshape(50, 10).tolist()}) > 40  # and in no fixed order within one


@given(labels, st.data())
def test_a_smaller_sample_lies_in_a_larger_one(labels, data):
    large = data.draw(st.integers(1, len(labels)))
    small = data.draw(st.integers(1, large))
    assert set(stratified_sample(labels, small, 0)) <= set(stratified_sample(labels, large, 0))
    assert (np.diff(stratified_sample(labels, large, 0)) > 0).all()


def test_another_seed_draws_others():
    labels = np.zeros(100, dtype=int)
    assert set(stratified_sample(labels, 10, 0)) != set(stratified_sample(labels, 10, 1))


@pytest.mark.parametrize("count", [0, -1, 4, 1.5, True])
def test_a_number_out_of_range_is_refused(count):
    with pytest.raises(ValueError, match=f"count: found {count}, allowed"):
        stratified_sample(np.array([0, 1, 0]), count, 0)
