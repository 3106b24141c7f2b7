"""The plans of the image study: which runs answer which question, at the setting of each scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from wavy.dynamics import MIXED_KINDS
from wavy.experiments.deit_run import KINDS, DeitRun, Remedy

#: Where theta of the published mix starts: lambda = 3.4e-4, so almost pure diffusion.
PUBLISHED_THETA = -8.0

#: What each scale changes in the defaults of a run.
SETTINGS: dict[str, dict[str, object]] = {
    # A faster rate lets rounding grow within these steps to other accuracies on another number of threads.
    "quick": {
        "dataset": "digits", "depth": 4, "dim": 32, "patch_size": 2, "images": None, "epochs": 12, "batch_size": 32,
        "lr": 1e-3, "augmentation": "plain", "precision": "float64",
    },
    "cpu": {},
    "gpu": {
        "patch_size": 4, "dim": 192, "heads": 3, "images": None, "epochs": 10, "batch_size": 512, "lr": 1e-3,
        "precision": "bf16",
    },
    "paper": {
        "dataset": "imagenet", "patch_size": 16, "dim": 192, "heads": 3, "size": 224, "images": None, "epochs": 300,
        "batch_size": 1008, "lr": 1e-3, "warmup_epochs": 5.0, "clip": None, "augmentation": "deit", "drop_path": 0.1,
        "precision": "bf16",
    },
}  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """Runs that answer one question.

    Args:
        cells: what each run changes in the setting of its scale.
        seeds: how many seeds each of them gets, where the scale has the time.
    """

    cells: tuple[dict[str, object], ...]
    seeds: int


def _each(residuals: tuple[str, ...], **options: object) -> tuple[dict[str, object], ...]:
    return tuple({"residual": residual, **options} for residual in residuals)


MIX = {"residual": "mix_full", "theta_init": PUBLISHED_THETA}
SIDES = ("diffusion", "light", "full")
FIVE = 5

RATES = (2.5e-4, 5e-4, 1e-3, 2e-3, 4e-3)
#: The full wave's best of them, by validation accuracy.
FULL_RATE = 5e-4

#: The plans, in the order in which scale ``cpu`` runs them.
PLANS = {
    "search": Plan(tuple({"lr": lr} for lr in RATES), 1),
    "kinds": Plan((*_each(SIDES), MIX), FIVE),
    "parts": Plan(
        (
            {"residual": "diffusion", "featscale": True},
            {"residual": "full", "featscale": True},
            {"residual": "full", "velocity_mlp": False},
        ),
        FIVE,
    ),
    "mixes": Plan((*_each(("mix_full", "mix_light")), {**MIX, "featscale": True}), FIVE),
    "deep": Plan((*_each(SIDES, depth=24), *_each(SIDES, depth=48, dim=48)), 2),
    # A full wave of twelve layers ends far from zero; with three layers less or more it ends near it.
    "phase": Plan(tuple(cell for depth in (9, 15) for cell in _each(("diffusion", "full"), depth=depth)), 2),
    # Whether a wave bears, or needs, another rate than the one that was searched for diffusion.
    "rates": Plan(tuple(cell for lr in RATES for cell in _each(("light", "full"), lr=lr)), 1),
    # The full wave at that rate, against diffusion at its own.
    "own_rate": Plan(_each(("full",), lr=FULL_RATE), FIVE),
    "remedies": Plan(_each(get_args(Remedy)), 1),
    "cait": Plan(_each(("diffusion", "full"), model="cait", depth=24), FIVE),
    "tokens": Plan(_each(SIDES, patch_size=4), 2),
    "tiny_imagenet": Plan(_each(SIDES, dataset="tiny_imagenet100", patch_size=16, images=20_000), 2),
}
PlanName = Literal[
    "search",
    "kinds",
    "parts",
    "mixes",
    "deep",
    "phase",
    "rates",
    "own_rate",
    "remedies",
    "cait",
    "tokens",
    "tiny_imagenet",
]

#: Those that are others at scale ``paper``, where the ablation has half of the epochs and CaiT a recipe of its own.
PAPER_PLANS = {
    "parts": Plan(
        (
            {"residual": "diffusion", "featscale": True},
            {"residual": "full", "featscale": True},
            *({"residual": "full", "epochs": 150, "velocity_mlp": on} for on in (True, False)),
        ),
        FIVE,
    ),
    "cait": Plan(_each(("diffusion", "full"), model="cait", depth=24, heads=4, drop_path=0.05), FIVE),
}


def deit_run(scale: str, residual: str = "diffusion", **options: object) -> DeitRun:
    """A run at the setting of a scale, with theta starting at 0 where there is one, then ``options``."""
    start = {"tau": 0.5 if residual in KINDS else None, "theta_init": 0.0 if residual in MIXED_KINDS else None}
    return DeitRun(residual=residual, **(start | SETTINGS[scale] | options))


def variant(run: DeitRun) -> str:
    """What a run has in place of DeiT's stock residual, for instance "full" or "mix_full, theta -8, featscale"."""
    words = [run.residual]
    words += [f"theta {run.theta_init:g}"] if run.theta_init else []
    words += ["featscale"] if run.featscale else []
    words += [] if run.velocity_mlp else ["no FFN_v"]
    words += ["cait"] if run.model == "cait" else []
    return ", ".join(words)
