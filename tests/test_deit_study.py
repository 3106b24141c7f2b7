"""The experiment on images: its runs, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from typing import get_args

import pytest
from pydantic import ValidationError

from wavy import results
from wavy.data import DataUnavailable
from wavy.data.images import load_images
from wavy.dynamics import KINDS, MIXED_KINDS
from wavy.experiments.deit import DeitRun, DeitStudy
from wavy.experiments.deit_plans import FULL_RATE, PLANS, PUBLISHED_THETA, SIDES, PlanName, deit_run, variant
from wavy.experiments.deit_run import PIXELS, Remedy


def runs_of(scale, *plans, **options):
    return DeitStudy(scale=scale, plans=plans or None, **options).runs()


def test_the_whole_study_runs_each_cell_once_and_plan_by_plan():
    runs = runs_of("cpu")
    assert len({results.run_hash(run) for run in runs}) == len(runs)
    assert set(runs) == {run for plan in PLANS for run in runs_of("cpu", plan)}
    assert runs[: len(PLANS["search"].cells)] == runs_of("cpu", "search")
    assert get_args(PlanName) == tuple(PLANS)


def test_seeds_are_outermost_so_that_a_stopped_sweep_leaves_whole_comparisons():
    runs = runs_of("cpu", "kinds", "parts", seeds=(3, 1))
    assert [run.seed for run in runs] == [3] * 4 + [1] * 4 + [3] * 3 + [1] * 3
    assert [variant(run) for run in runs[:4]] == ["diffusion", "light", "full", "mix_full, theta -8"]
    assert [variant(run) for run in runs[8:11]] == ["diffusion, featscale", "full, featscale", "full, no FFN_v"]
    assert {run.seed for run in runs_of("cpu", "kinds")} == {0, 1, 2, 3, 4}


def test_the_search_varies_the_learning_rate_alone():
    runs = runs_of("cpu", "search")
    assert len({run.lr for run in runs}) == len(runs) > 2
    assert len({run.model_copy(update={"lr": 1.0}) for run in runs}) == 1
    # The rate of all other runs is one of those that were tried.
    waves = runs_of("cpu", "rates")
    own = runs_of("cpu", "own_rate")
    assert {(run.residual, run.lr) for run in own} == {("full", FULL_RATE)}
    others = {run.lr for run in runs_of("cpu") if run not in (*runs, *waves, *own)}
    assert len(others) == 1
    assert others < {run.lr for run in runs}
    # The waves are tried at all of them, too.
    for kind in ("light", "full"):
        assert [run.lr for run in waves if run.residual == kind] == [run.lr for run in runs]


def test_within_a_comparison_nothing_but_the_residual_differs():
    own = {"residual", "theta_init", "featscale", "velocity_mlp", "seed", "tau"}
    common = str(deit_run("cpu").model_dump(exclude=own))
    for plan in ("kinds", "parts", "mixes", "remedies"):
        assert {str(run.model_dump(exclude=own)) for run in runs_of("cpu", plan)} == {common}
    for plan in ("cait", "tokens", "tiny_imagenet"):
        assert len({str(run.model_dump(exclude=own)) for run in runs_of("cpu", plan)}) == 1
    assert {run.depth for run in runs_of("cpu", "deep")} == {24, 48}


def test_theta_and_tau_stand_where_there_is_one():
    for run in runs_of("cpu"):
        assert (run.theta_init is not None) == (run.residual in MIXED_KINDS)
        assert run.tau == (0.5 if run.residual in KINDS else None)
    thetas = {variant(run): run.theta_init for run in runs_of("cpu", "kinds", "mixes")}
    assert thetas["mix_full, theta -8"] == thetas["mix_full, theta -8, featscale"] == PUBLISHED_THETA == -8
    assert thetas["light"] == thetas["mix_full"] == thetas["mix_light"] == 0


def test_quick_has_one_seed_and_the_three_sides_in_double_precision():
    runs = runs_of("quick")
    assert [run.residual for run in runs] == list(SIDES)
    assert {(run.dataset, run.precision, run.seed) for run in runs} == {("digits", "float64", 0)}
    # Named plans are run whole.
    assert len(runs_of("quick", "kinds")) == len(PLANS["kinds"].cells)
    assert len(runs_of("quick", "remedies")) == len(PLANS["remedies"].cells)


def test_gpu_has_all_training_images_and_few_seeds_unless_asked_for_more():
    runs = runs_of("gpu")
    assert {(run.dataset, run.images, run.precision) for run in runs} == {("cifar10", None, "bf16")}
    assert [run.seed for run in runs] == [0] * 4 + [1] * 4
    assert {run.seed for run in runs_of("gpu", seeds=(7, 8, 9))} == {7, 8, 9}


def test_paper_is_the_published_recipe_and_the_ablation_has_half_of_its_epochs():
    runs = runs_of("paper", seeds=(0,))
    assert {(run.dataset, run.size, run.patch_size, run.dim) for run in runs} == {("imagenet", 224, 16, 192)}
    assert {(run.augmentation, run.warmup_epochs, run.weight_decay, run.clip) for run in runs} == {
        ("deit", 5.0, 0.05, None)
    }
    half = [(run.residual, run.velocity_mlp) for run in runs if run.epochs == 150]
    assert half == [("full", True), ("full", False)]
    assert {run.epochs for run in runs} == {150, 300}
    assert {(run.depth, run.heads) for run in runs if run.model == "cait"} == {(24, 4)}


def test_epochs_and_residuals_narrow_a_study():
    runs = runs_of("cpu", "kinds", "remedies", residuals=("full", "rezero"), epochs=2)
    assert {run.residual for run in runs} == {"full", "rezero"}
    assert {run.epochs for run in runs} == {2}
    with pytest.raises(ValidationError, match="residuals: found rezero, allowed those of the plans kinds, parts"):
        DeitStudy(scale="cpu", plans=("kinds", "parts"), residuals=("rezero",))


def test_the_remedies_are_those_that_can_be_built():
    from wavy.remedies.vision import REMEDIES  # noqa: PLC0415 (timm)

    assert get_args(Remedy) == tuple(REMEDIES) == tuple(run.residual for run in runs_of("cpu", "remedies"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"residual": "batchnorm"}, "residual"),
        ({"residual": "rezero"}, "tau: found 0.5 for rezero, allowed None"),
        ({"residual": "full", "tau": None}, "tau: found None for full, allowed a number"),
        ({"residual": "light"}, "theta_init: found None for light, allowed a number"),
        ({"residual": "full", "theta_init": 0.0}, "theta_init: found 0.0 for full, allowed None"),
        ({"velocity_mlp": False}, "velocity_mlp: found False for diffusion, allowed True"),
        ({"residual": "rezero", "tau": None, "featscale": True}, "residual: found rezero with FeatScale or CaiT"),
        ({"residual": "rezero", "tau": None, "model": "cait"}, "residual: found rezero with FeatScale or CaiT"),
        ({"heads": 3}, "heads: found 3, allowed a divisor of dim = 64"),
        (
            {"dataset": "digits", "patch_size": 3},
            "patch_size: found 3, allowed a divisor of the side of the images = 8",
        ),
        ({"dataset": "digits", "patch_size": 9}, "patch_size: found 9, allowed a divisor"),
        ({"dataset": "imagenet", "size": 224, "patch_size": 15}, "patch_size: found 15, allowed .* = 224"),
        ({"augmentation": "deit", "batch_size": 63}, "batch_size: found 63 with augmentation deit, allowed a multiple"),
        ({"tau": 1.0}, "tau"),
        ({"epoch": 3}, "epoch"),
    ],
)
def test_refuses(options, message):
    with pytest.raises(ValidationError, match=message):
        DeitRun(**options)


def test_the_images_have_the_side_that_is_known_of_them():
    for name, side in PIXELS.items():
        try:
            assert load_images(name, "test").images[0].shape == (side, side, 3)
        except DataUnavailable:
            pytest.skip(f"{name} is not at hand (set WAVY_DATA)")


def test_a_sweep_of_something_else_does_not_need_the_packages_of_images():
    code = "import sys, wavy.training.runners; print([name for name in ('timm', 'torchvision') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
