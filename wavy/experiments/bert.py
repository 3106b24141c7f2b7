"""BERT from scratch with any residual kind: masked tokens and next sentences."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, field_validator

from wavy.dynamics import MIXED_KINDS
from wavy.experiments.fields import Kind, Seed, Study, unique
from wavy.experiments.language_run import LanguageRun

#: The kinds that the paper has numbers of come first; its "mix (+light)" is kind light, by the formula it prints.
CLAIMED = ("diffusion", "light", "mix_full", "full")
ALL = (*CLAIMED, "mix_light")

#: The setting of each scale: what it changes in a run's defaults.
SETTINGS = {
    "quick": {
        "dataset": "docstrings", "limit": 400_000, "vocab_size": 1000, "depth": 4, "dim": 32, "heads": 2, "mlp_dim": 64,
        "length": 32, "batch_size": 32, "steps": 250, "lr": 5e-3, "dropout": 0.0, "precision": "float64",
        "evaluated": 200,
    },
    "cpu": {},
    "gpu": {"dim": 256, "mlp_dim": 1024, "length": 128, "batch_size": 128, "steps": 2000, "precision": "bf16"},
    "paper": {
        "dataset": "wikipedia+bookcorpus", "limit": 2_000_000_000, "vocab_size": 30_522, "depth": 24, "dim": 256,
        "heads": 4, "mlp_dim": 1024, "length": 128, "batch_size": 128, "steps": 100_000, "lr": 5e-5,
        "precision": "fp16", "evaluated": 10_000,
    },
}  # fmt: skip
#: Few channels and many layers, where over-smoothing should bite; about the cost of the 12 wide layers.
DEEP = {"depth": 48, "dim": 64, "heads": 2, "mlp_dim": 256}

#: What each scale means where a parameter is ``None``.
SCALES = {
    "quick": {"residuals": ("diffusion", "full", "light"), "seeds": (0,)},
    "cpu": {"residuals": ALL, "seeds": (0, 1, 2, 3, 4)},
    "gpu": {"residuals": ALL, "seeds": (0, 1, 2, 3, 4)},
    "paper": {"residuals": CLAIMED, "seeds": (0, 1, 2, 3, 4)},
}


class BertRun(LanguageRun):
    """All that determines one pre-trained BERT."""

    experiment: ClassVar[str] = "bert"
    model_name: ClassVar[str] = "BERT"

    nsp: bool = Field(True, description="whether pairs of spans are classified, too")
    masked: float = Field(0.15, gt=0, le=1, description="share of the tokens that are predicted")


class BertStudy(Study):
    """The parameters of ``notebooks/bert``; ``None`` means what the scale says."""

    scales: ClassVar = SCALES

    scale: Literal["quick", "cpu", "gpu", "paper"] = Field("quick", description="how much to run")
    plan: Literal["kinds", "deep"] = Field("kinds", description="the scale's model, or 48 narrow layers")
    residuals: tuple[Kind, ...] | None = Field(None, min_length=1, description="residual kinds")
    seeds: tuple[Seed, ...] | None = Field(None, min_length=1, description="one run for each")
    steps: int | None = Field(None, ge=1, description="training steps of one run; None for those of the scale")
    device: Literal["cpu", "cuda"] = Field("cpu", description="where to train")

    _once = field_validator("residuals", "seeds")(unique)

    def runs(self) -> list[BertRun]:
        """The runs of the study: seeds outermost, so that a stopped sweep leaves whole comparisons."""
        return [
            bert_run(kind, self.scale, self.plan, seed=seed, **({"steps": self.steps} if self.steps else {}))
            for seed in self.chosen("seeds")
            for kind in self.chosen("residuals")
        ]


def bert_run(residual: str, scale: str, plan: str = "kinds", **options: object) -> BertRun:
    """A run at the setting of a scale and a plan, with theta starting at 0 where there is one, then ``options``."""
    setting = SETTINGS[scale] | (DEEP if plan == "deep" else {})
    start = {"theta_init": 0.0 if residual in MIXED_KINDS else None}
    return BertRun(residual=residual, **(start | setting | options))
