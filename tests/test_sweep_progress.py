"""What a sweep says while it runs: the time left, and names that tell its runs apart."""

from __future__ import annotations

import heapq

import pytest

from sweep_kit import FakeRun, fake
from wavy.experiments.difformer import DifformerStudy
from wavy.sweep import sweep, training_cost
from wavy.sweep.progress import time_left

#: Costs of a study: seeds outermost, depths that differ by a factor of 16.
COSTS = [depth * 5.0 for _ in range(6) for depth in (2, 4, 8, 16, 32) for _ in range(4)]


def ends(costs, workers):
    """When each run ends if a run takes its cost and starts in its order as soon as a worker is free."""
    free, found = [0.0] * workers, []
    for index, cost in enumerate(costs):
        end = heapq.heappop(free) + cost
        heapq.heappush(free, end)
        found.append((end, index))
    return sorted(found)


def estimates(costs, workers):
    """Time passed, estimated and true time left at the end of each run."""
    found, done = ends(costs, workers), set()
    for now, index in found[:-1]:
        done.add(index)
        spent = sum(costs[i] for i in done)
        yield (
            now,
            time_left(now, spent, [cost for i, cost in enumerate(costs) if i not in done], workers),
            found[-1][0] - now,
        )


def test_alone_the_time_left_is_exact_where_costs_are():
    for _, estimate, left in estimates(COSTS, 1):
        assert estimate == pytest.approx(left)


@pytest.mark.parametrize("workers", [2, 4, 8])
def test_side_by_side_it_is_off_by_less_than_the_longest_run(workers):
    """From a third on: before, little is known of the runs under way."""
    whole = ends(COSTS, workers)[-1][0]
    for now, estimate, left in estimates(COSTS, workers):
        if now > whole / 3:
            assert abs(estimate - left) < max(COSTS)


@pytest.mark.parametrize("workers", [1, 4])
def test_growing_costs_are_foreseen(workers):
    """All shallow models first: after half of the runs little of the work is done."""
    costs = sorted(COSTS)
    whole = ends(costs, workers)[-1][0]
    now, estimate, left = list(estimates(costs, workers))[len(costs) // 2]
    assert now < whole / 4
    assert estimate == pytest.approx(left, rel=0.1)


def test_the_cost_of_a_run_is_its_depth_times_its_epochs_times_the_size_of_its_graph():
    run = DifformerStudy(depths=(16,), epochs=50).runs()[0]
    assert training_cost(run) == 16 * 50 * (2708 + 10556)
    assert training_cost(FakeRun()) == 1


def test_a_cost_of_ones_own_is_used():
    lines = []
    runs = [FakeRun(seed=seed, seconds=0.3) for seed in range(2)]
    sweep(runs, fake, scale="quick", cost=lambda run: 1 + 399 * run.seed, report=lines.append)
    assert lines[0] == "[1/2] none seed 0: 0 s, about 2 min left"


def test_lines_name_what_differs_between_the_runs():
    lines = []
    runs = [FakeRun(seed=1, depth=8, tau=0.25, seconds=seconds) for seconds in (0.0, 0.01)]
    sweep(runs, fake, scale="quick", report=lines.append)
    assert [line.split(":")[0] for line in lines] == [
        "[1/2] none depth 8 tau 0.25 seed 1 seconds 0",
        "[2/2] none depth 8 tau 0.25 seed 1 seconds 0.01",
    ]


def test_hours_are_told_as_hours():
    lines = []
    runs = [FakeRun(seed=seed, seconds=0.1) for seed in range(2)]
    sweep(runs, fake, scale="quick", cost=lambda run: 1 + 200_000 * run.seed, report=lines.append)
    assert lines[0].endswith(" h left")
