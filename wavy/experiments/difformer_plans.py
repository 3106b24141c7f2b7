"""The plans of the graph study: which runs answer which question.

No plan is a full grid. Each starts from a published setting and changes one or two things at a time; within a plan the
runs that judge a claim come first, and seeds are outermost where whole comparisons should stand early.
"""

from __future__ import annotations

from collections.abc import Iterable

from wavy.dynamics import MIXED_KINDS
from wavy.experiments.difformer_run import SETTINGS, WEIGHT_DECAY, DifformerRun
from wavy.experiments.fields import worded

#: Both sides of every claim on graphs.
SIDES = ("diffusion", "light")
FIVE_SEEDS = (0, 1, 2, 3, 4)

#: What the sources leave open about the published setting: each is tried alone, with all else as published.
OPEN_CHOICES: dict[str, dict[str, object]] = {
    "published": {},
    "raw features": {"normalize_features": False},
    "no weight decay": {"weight_decay": 0.0},
    "lr 3e-3": {"lr": 3e-3},
    "lr 1e-2": {"lr": 1e-2},
    "no dropout": {"dropout": 0.0},
    "dropout 0.5": {"dropout": 0.5},
    "use_weight": {"use_weight": True},
    "use_source": {"use_source": True},
    "no LayerNorm": {"use_norm": False},
    "row-stochastic operator": {"operator": "row_stochastic"},
    "mean of attention and GCN": {"graph_weight": 0.5},
    "public split": {"split": "public"},
}

#: What the sources leave open about lambda; only for the kinds that have one.
LAMBDA_CHOICES: dict[str, dict[str, object]] = {
    "theta -8": {"theta_init": -8.0},
    "theta -4": {"theta_init": -4.0},
    "lambda 0.5": {"theta_init": None, "lam": 0.5},
    "lambda 0.9": {"theta_init": None, "lam": 0.9},
    "lambda 1": {"theta_init": None, "lam": 1.0},
}

#: Graphs on which a prediction is tested in many cells, and in a few.
SMALL = ("texas", "cornell", "wisconsin", "chameleon_filtered", "citeseer", "squirrel_filtered")
LARGE = ("actor", "photo", "pubmed", "computers", "tolokers", "coauthor_cs", "coauthor_physics")


def run(residual: str, **options: object) -> DifformerRun:
    """A run at the published setting of its data set, with theta starting at 0 where there is one, then ``options``."""
    dataset = options.get("dataset", "cora")
    start = {"theta_init": 0.0 if residual in MIXED_KINDS else None}
    start |= SETTINGS[dataset]
    return DifformerRun(residual=residual, **(start | options))


def setting(run_: DifformerRun) -> str:
    """What differs from the published setting of a run's data set, in words: "published", or for instance "lam 0.9"."""
    plain = run(run_.residual, dataset=run_.dataset)
    apart = ("dataset", "residual", "depth", "tau", "seed")
    differs = [
        worded(name, value)
        for name, value in run_
        if name not in apart and value != getattr(plain, name) and not (name == "theta_init" and run_.lam is not None)
    ]
    return ", ".join(differs) or "published"


def claims() -> list[DifformerRun]:
    """The cells that the sources make claims about, five seeds each."""
    cells = [
        {"dataset": "cora", "depth": 20, "tau": 0.2},
        {"dataset": "cora", "depth": 12, "tau": 0.5},
        {"dataset": "citeseer", "depth": 8, "tau": 0.5},
        {"dataset": "citeseer", "depth": 8, "tau": 0.2},
    ]
    return [run(kind, seed=seed, **cell) for cell in cells for seed in FIVE_SEEDS for kind in SIDES]


def search() -> list[DifformerRun]:
    """Which open choice gives the numbers of the claim on Cora with 20 layers? One change at a time, then pairs."""
    cell = {"depth": 20, "tau": 0.2}
    raw = OPEN_CHOICES["raw features"]
    return _unique(
        run(kind, seed=seed, **(cell | choice))
        for seed in (0, 1)
        for kind, choice in (
            *(("light", choice | also) for choice in LAMBDA_CHOICES.values() for also in (raw, {})),
            *((kind, choice) for choice in OPEN_CHOICES.values() for kind in SIDES),
            *(("light", choice | OPEN_CHOICES["row-stochastic operator"]) for choice in LAMBDA_CHOICES.values()),
            *((kind, raw) for kind in ("full", "mix_full", "mix_light")),
            *((kind, raw | {"weight_decay": 5e-4, "dropout": 0.5}) for kind in SIDES),
        )
    )


def confirm() -> list[DifformerRun]:
    """Settings in which the search or the signal ratio puts the light wave ahead, or level; five seeds each."""
    raw = OPEN_CHOICES["raw features"] | {"depth": 20, "tau": 0.2}
    mean = OPEN_CHOICES["row-stochastic operator"] | {"depth": 20, "tau": 0.5}
    short = mean | {"tau": 0.2}
    sides = [
        *(("diffusion", mean), ("light", mean | LAMBDA_CHOICES["lambda 0.9"]), ("light", mean)),
        *(("diffusion", raw), ("light", raw | LAMBDA_CHOICES["theta -8"]), ("light", raw)),
        *(("diffusion", short), ("light", short | LAMBDA_CHOICES["theta -4"])),
    ]
    return [run(kind, seed=seed, **choice) for seed in FIVE_SEEDS for kind, choice in sides]


def causes() -> list[DifformerRun]:
    """What keeps a deep model from training? One suspect taken away at a time, then two; information is never added."""
    still, apart = {"dropout": 0.0}, {"standardize": True}
    without = [{}, {"weight_decay": 0.0}, still, apart, still | apart]
    return [
        run(kind, depth=20, tau=tau, seed=seed, **suspects)
        for seed in (0, 1, 2)
        for tau in (0.2, 0.5)
        for suspects in without
        for kind in SIDES
    ]


def factors() -> list[DifformerRun]:
    """One factor at a time around the published setting: Cora, 8 layers, tau 0.5."""
    around = [
        *({"depth": depth} for depth in (2, 3, 5, 7, 32)),
        *({"tau": tau} for tau in (0.1, 0.8)),
        *({"depth": 32, "tau": tau} for tau in (0.1, 0.2)),
        *({"depth": depth, "tau": 0.2} for depth in (3, 5, 7)),
        {"depth": 20, "tau": 0.1},
        *OPEN_CHOICES.values(),
        *({"operator": "row_stochastic", "depth": depth} for depth in (2, 12, 20)),
    ]
    lambdas = [
        *LAMBDA_CHOICES.values(),
        *(choice | {"tau": 0.2} for choice in LAMBDA_CHOICES.values()),
        *(choice | {"operator": "row_stochastic", "depth": 20} for choice in LAMBDA_CHOICES.values()),
    ]
    return _unique(
        run(kind, seed=seed, **({"depth": 8, "tau": 0.5} | choice))
        for seed in (0, 1, 2)
        for kind, choice in (
            *((kind, choice) for choice in around for kind in (*SIDES, "full")),
            *(("light", choice) for choice in lambdas),
            *((kind, {}) for kind in ("mix_full", "mix_light")),
            *((kind, {"kernel": "sigmoid", "depth": 4, "epochs": 200}) for kind in SIDES),
        )
    )


def graphs() -> list[DifformerRun]:
    """Other graphs than Cora, around the depths at which models are predicted to fail; Cora's settings throughout."""
    small = [{"depth": depth, "tau": tau} for depth in (2, 8, 16, 32) for tau in (0.2, 0.5)]
    large = [{"depth": 2, "tau": 0.5}, {"depth": 8, "tau": 0.2}, {"depth": 8, "tau": 0.5}, {"depth": 16, "tau": 0.2}]
    return [
        run(kind, dataset=dataset, seed=seed, weight_decay=WEIGHT_DECAY["cora"], metric="accuracy", **cell)
        for seed in (0, 1)
        for datasets, cells, kinds in ((SMALL, small, (*SIDES, "full")), (LARGE, large, SIDES))
        for dataset in datasets
        for cell in cells
        for kind in kinds
    ]


def _unique(runs: Iterable[DifformerRun]) -> list[DifformerRun]:
    return list(dict.fromkeys(runs))


PLANS = {"claims": claims, "search": search, "confirm": confirm, "causes": causes, "factors": factors, "graphs": graphs}
