"""The order of the data, and the random numbers in them: whoever makes the batches, they are the same."""

from __future__ import annotations

import random
from itertools import chain

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from loop_kit import Points
from wavy.training.loop.evaluation import EvenShares
from wavy.training.loop.examples import VisitedExamples, loader
from wavy.training.loop.order import MicroBatches, Order, share, split

sizes = st.integers(1, 40)


@given(sizes, sizes, st.integers(0, 5))
def test_each_epoch_visits_each_example_once(size, batch_size, seed):
    order = Order(size, batch_size, seed)
    steps = -(-3 * size // batch_size)
    visits = list(chain.from_iterable(order.batch(step) for step in range(steps)))[: 3 * size]
    assert [epoch for epoch, _ in visits] == [0] * size + [1] * size + [2] * size
    for epoch in range(3):
        assert sorted(visits[epoch * size : (epoch + 1) * size]) == [(epoch, index) for index in range(size)]


def test_each_epoch_and_each_seed_has_an_order_of_its_own():
    def epoch(seed, step):
        return [index for _, index in Order(50, 50, seed).batch(step)]

    assert len({tuple(epoch(seed, step)) for seed in range(3) for step in range(3)}) == 9
    assert Order(50, 50, 1).batch(4) == Order(50, 50, 1).batch(4)


@given(sizes, st.integers(1, 8), st.integers(1, 4), st.integers(1, 9), st.integers(0, 3))
def test_processes_share_each_batch(size, a_process, processes, most, first):
    order, steps = Order(size, a_process * processes, 0), range(first, first + 3)
    taken = [list(MicroBatches(order, steps, rank, processes, most)) for rank in range(processes)]
    samplers = [MicroBatches(order, steps, rank, processes, most) for rank in range(processes)]
    assert {len(batches) for batches in taken} == {len(sampler) for sampler in samplers} == {3 * samplers[0].a_step}
    a_step = samplers[0].a_step
    for place, step in enumerate(steps):
        mine = [chain.from_iterable(batches[place * a_step : (place + 1) * a_step]) for batches in taken]
        assert list(chain.from_iterable(mine)) == order.batch(step)
    assert all(0 < len(batch) <= most for batch in chain.from_iterable(taken))


@given(st.integers(0, 40), st.integers(1, 9))
def test_parts_are_contiguous_and_nearly_equal(number, parts):
    items = list(range(number))
    shares = [share(items, part, parts) for part in range(parts)]
    assert list(chain.from_iterable(shares)) == items
    assert max(map(len, shares)) - min(map(len, shares)) <= 1
    assert list(chain.from_iterable(split(items, parts))) == items


@given(sizes, st.integers(1, 7), st.integers(1, 5))
def test_evaluation_shares_are_even_and_gather_to_all_examples(size, a_process, processes):
    shares = [list(EvenShares(size, a_process, rank, processes)) for rank in range(processes)]
    assert all(len(one) == len(EvenShares(size, a_process, 0, processes)) for one in shares)
    gathered = []
    for parts in zip(*shares, strict=True):
        assert len({len(part) for part in parts}) == 1
        assert len(parts[0]) <= a_process
        gathered += chain.from_iterable(parts)
    assert [index for _, index in gathered[:size]] == list(range(size))
    assert len(gathered) < size + processes


def _visited(visits, workers=0, seed=0):
    examples = VisitedExamples(Points(noise=True), None, seed)
    batches = loader(examples, visits, workers, pin_memory=False)
    return torch.cat([batch["input"] for batch in batches])


VISITS = [(0, 3), (0, 9), (1, 3), (1, 5), (1, 9), (2, 3)]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("most", [1, 4])
def test_random_examples_do_not_depend_on_who_makes_them(workers, most):
    assert torch.equal(_visited(split(VISITS, most), workers), _visited([VISITS]))


def test_each_visit_draws_anew():
    whole = _visited([VISITS])
    assert not torch.equal(whole[0], whole[2])
    assert not torch.equal(whole, _visited([VISITS], seed=1))


def test_data_leave_the_generators_alone():
    states = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state()
    _visited([VISITS])
    _visited([VISITS], workers=1)
    assert states[:2] == (random.getstate(), np.random.get_state()[1].tolist())
    assert torch.equal(states[2], torch.get_rng_state())


def test_random_collation_is_repeated():
    def collated():
        examples = VisitedExamples(Points(), lambda examples: torch.rand(len(examples)), seed=5)
        return torch.stack(list(loader(examples, [VISITS[:3], VISITS[3:]], 0, pin_memory=False)))

    assert torch.equal(collated(), collated())
    assert not torch.equal(*collated())
