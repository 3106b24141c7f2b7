"""Planned and recorded runs: every planned run is counted once, and a cell is reached by any of its seeds."""

from __future__ import annotations

import pytest

from wavy.companion.coverage import coverage, recorded_hashes, unreached
from wavy.experiments.difformer_plans import PLANS, run
from wavy.experiments.glue import GlueStudy
from wavy.results import run_hash

SEEDS = (0, 1, 2)
DEPTHS = (2, 8, 20)
PLAN = [run("diffusion", depth=depth, seed=seed) for seed in SEEDS for depth in DEPTHS]


def recorded(*cells: tuple[int, int]) -> set[str]:
    return {run_hash(run("diffusion", depth=depth, seed=seed)) for depth, seed in cells}


def test_cells_with_all_some_and_none_of_their_seeds():
    rows = recorded((2, 0), (2, 1), (2, 2), (8, 1), (50, 0))
    counts = coverage({"plan": PLAN}, rows).loc["plan"]
    assert counts.to_dict() == {
        "planned": 9, "recorded": 4, "missing": 5, "cells": 3, "with all seeds": 1, "with some": 1, "with none": 1,
    }  # fmt: skip


def test_an_unreached_cell_stands_once_and_a_reached_one_does_not():
    assert unreached(PLAN, recorded((2, 0), (8, 2))) == [run("diffusion", depth=20, seed=0)]
    assert unreached(PLAN, recorded(*((depth, 1) for depth in DEPTHS))) == []


def test_a_run_that_is_planned_twice_counts_once():
    assert coverage({"plan": PLAN + PLAN}, set()).loc["plan", "planned"] == len(PLAN)


def test_the_seed_of_a_pretraining_makes_no_cell_of_its_own():
    study = GlueStudy(scale="cpu")
    counts = coverage({"glue": study.runs()}, set()).loc["glue"]
    assert counts["planned"] == counts["cells"] * len(study.chosen("seeds"))
    assert counts["cells"] == len(study.chosen("tasks")) * len(study.chosen("residuals"))


@pytest.mark.parametrize("plan", PLANS)
def test_the_parts_of_every_plan_add_up(plan):
    runs = PLANS[plan]()
    rows = {run_hash(each) for each in runs[::3]}
    counts = coverage({plan: runs}, rows).loc[plan]
    assert counts["recorded"] + counts["missing"] == counts["planned"] == len(set(runs))
    assert counts["with all seeds"] + counts["with some"] + counts["with none"] == counts["cells"]
    assert counts["with none"] == len(unreached(runs, rows))


def test_recorded_hashes_are_those_of_the_files_that_are_named():
    tuned, signal = recorded_hashes("difformer"), recorded_hashes("signal")
    assert tuned
    assert signal
    assert not tuned & signal
    assert recorded_hashes("difformer", "signal") == tuned | signal
    assert recorded_hashes("no such experiment") == set()
