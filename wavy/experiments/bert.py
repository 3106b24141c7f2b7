"""BERT from scratch with any residual kind: masked tokens and next sentences."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from wavy.dynamics import MIXED_KINDS
from wavy.experiments.fields import Kind, Seed, Study, unique
from wavy.experiments.language_run import LanguageRun

#: The kinds that the paper has numbers of come first; its "mix (+light)" is kind light, by the formula it prints.
CLAIMED = ("diffusion", "light", "mix_full", "full")
ALL = (*CLAIMED, "mix_light")

#: What each scale changes in the defaults of a run. A masked model learns first to keep what it sees, and for long
#: nothing else; short sequences, large batches and a text that is read often let it read context within few steps.
SETTINGS = {
    "quick": {
        "dataset": "docstrings", "limit": 400_000, "vocab_size": 500, "depth": 2, "dim": 64, "heads": 4, "mlp_dim": 64,
        "length": 10, "batch_size": 128, "steps": 450, "lr": 5e-3, "dropout": 0.0, "init_std": 0.1, "masked": 0.3,
        "precision": "float64", "evaluated": 200, "nsp": False, "positions": 32,
    },
    "cpu": {
        "limit": 1_000_000, "vocab_size": 1024, "dim": 64, "mlp_dim": 128, "length": 10, "batch_size": 128,
        "steps": 3000, "lr": 2e-3, "dropout": 0.0, "init_std": 0.05, "nsp": False, "masked": 0.3,
        "positions": 64,
    },
    "gpu": {
        "dim": 256, "mlp_dim": 1024, "length": 128, "batch_size": 128, "lr": 5e-4, "init_std": 0.035,
        "precision": "bf16",
    },
    "paper": {
        "dataset": "wikipedia+bookcorpus", "limit": 2_000_000_000, "vocab_size": 30_522, "depth": 24, "dim": 256,
        "heads": 4, "mlp_dim": 1024, "length": 128, "batch_size": 128, "steps": 100_000, "lr": 5e-5,
        "precision": "fp16", "evaluated": 10_000,
    },
}  # fmt: skip
#: What a deep and narrow model, where over-smoothing should bite, changes in the setting of a scale.
DEEP = {
    "quick": {"depth": 16, "dim": 16, "mlp_dim": 32},
    "cpu": {"depth": 48, "dim": 32, "mlp_dim": 64},
    "gpu": {"depth": 48, "dim": 128, "mlp_dim": 512},
    "paper": {"depth": 48, "dim": 128, "mlp_dim": 512},
}
#: Learning rates that are tried for each kind, as multiples of the scale's.
SEARCHED = (0.5, 1.0, 2.0)

#: What each scale means where a parameter is ``None``.
SCALES = {
    "quick": {"residuals": ("diffusion", "full", "light"), "seeds": (0,)},
    "cpu": {"residuals": ALL, "seeds": (0, 1, 2, 3, 4)},
    "gpu": {"residuals": ALL, "seeds": (0,)},
    "paper": {"residuals": CLAIMED, "seeds": (0, 1, 2, 3, 4)},
}
#: What the plans have in place of a scale's values.
PLANS = {
    "deep": {"residuals": CLAIMED, "seeds": (0, 1)},
    "search": {"residuals": CLAIMED, "seeds": (0,)},
}


class BertRun(LanguageRun):
    """All that determines one pre-trained BERT."""

    experiment: ClassVar[str] = "bert"
    model_name: ClassVar[str] = "BERT"

    nsp: bool = Field(True, description="whether pairs of spans are classified, too")
    masked: float = Field(0.15, gt=0, le=1, description="share of the tokens that are predicted")
    positions: int | None = Field(
        None, ge=5, description="places that the model has embeddings for, for longer texts later; None for length"
    )

    @model_validator(mode="after")
    def _has_places(self) -> Self:
        if self.places < self.length:
            raise ValueError(f"positions: found {self.positions}, allowed {self.length} or more, the length")
        return self

    @property
    def places(self) -> int:
        """The number of places, whether trained or not."""
        return self.positions or self.length


class BertStudy(Study):
    """The parameters of ``notebooks/bert``; ``None`` means what the scale says."""

    scales: ClassVar = SCALES

    scale: Literal["quick", "cpu", "gpu", "paper"] = Field("quick", description="how much to run")
    plan: Literal["kinds", "deep", "search"] = Field(
        "kinds", description="the scale's model, many narrow layers, or several learning rates"
    )
    residuals: tuple[Kind, ...] | None = Field(None, min_length=1, description="residual kinds")
    seeds: tuple[Seed, ...] | None = Field(None, min_length=1, description="one run for each")
    steps: int | None = Field(None, ge=1, description="training steps of one run; None for those of the scale")
    device: Literal["cpu", "cuda"] = Field("cpu", description="where to train")

    _once = field_validator("residuals", "seeds")(unique)

    def chosen(self, name: str) -> object:
        """A parameter's value; where it is ``None``, that of the plan or of the scale."""
        if getattr(self, name) is None and name in PLANS.get(self.plan, {}):
            return PLANS[self.plan][name]
        return super().chosen(name)

    def runs(self) -> list[BertRun]:
        """The runs of the study: seeds outermost, so that a stopped sweep leaves whole comparisons."""
        own = {"steps": self.steps} if self.steps else {}
        return [
            bert_run(kind, self.scale, self.plan, seed=seed, **(change | own))
            for seed in self.chosen("seeds")
            for kind in self.chosen("residuals")
            for change in self._changes()
        ]

    def _changes(self) -> list[dict[str, object]]:
        lr = bert_run("diffusion", self.scale).lr
        return [{"lr": factor * lr} for factor in SEARCHED] if self.plan == "search" else [{}]


def bert_run(residual: str, scale: str, plan: str = "kinds", **options: object) -> BertRun:
    """A run at the setting of a scale and a plan, with theta starting at 0 where there is one, then ``options``."""
    setting = SETTINGS[scale] | (DEEP[scale] if plan == "deep" else {})
    start = {"theta_init": 0.0 if residual in MIXED_KINDS else None}
    return BertRun(residual=residual, **(start | setting | options))
