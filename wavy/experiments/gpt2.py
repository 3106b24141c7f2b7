"""GPT-2 from scratch with any residual kind: does a wave help where a token sees only those before it?"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, field_validator

from wavy.dynamics import MIXED_KINDS
from wavy.experiments.bert_plans import ALL
from wavy.experiments.fields import Depth, Kind, Seed, Study, unique
from wavy.experiments.language_run import LanguageRun

#: What each scale changes in the defaults of a run. Nothing is published for training from scratch, so ``paper`` is
#: GPT-2's own small model, on the text that the source's fine-tuning is thought to have used.
SETTINGS = {
    "quick": {
        "dataset": "docstrings", "limit": 400_000, "vocab_size": 1000, "dim": 32, "heads": 2, "mlp_dim": 64,
        "length": 32, "batch_size": 16, "steps": 250, "lr": 5e-3, "dropout": 0.0, "init_std": 0.1,
        "precision": "float64", "evaluated": 200,
    },
    "cpu": {
        "vocab_size": 1024, "dim": 64, "heads": 2, "mlp_dim": 256, "batch_size": 16, "steps": 3000, "lr": 4e-3,
        "dropout": 0.0, "init_std": 0.07,
    },
    "gpu": {
        "dim": 256, "mlp_dim": 1024, "length": 128, "batch_size": 128, "init_std": 0.035, "precision": "bf16",
    },
    "paper": {
        "dataset": "openwebtext", "limit": 2_000_000_000, "vocab_size": 30_522, "dim": 768, "heads": 12,
        "mlp_dim": 3072, "length": 1024, "batch_size": 128, "steps": 100_000, "lr": 6e-4, "weight_decay": 0.1,
        "precision": "bf16",
    },
}  # fmt: skip

#: What each scale means where a parameter is ``None``.
SCALES = {
    "quick": {"residuals": ("diffusion", "full", "light"), "depths": (4,), "seeds": (0,)},
    "cpu": {"residuals": ALL, "depths": (12, 24), "seeds": (0, 1, 2, 3, 4)},
    "gpu": {"residuals": ALL, "depths": (12,), "seeds": (0,)},
    "paper": {"residuals": ALL, "depths": (12,), "seeds": (0, 1, 2, 3, 4)},
}
#: Learning rates of a search, as multiples of the scale's, and what it has in place of a scale's values.
SEARCHED = (0.125, 0.25, 0.5, 1.0, 2.0)
SEARCH = {"residuals": ("diffusion",), "depths": (12,), "seeds": (0,)}


class Gpt2Run(LanguageRun):
    """All that determines one GPT-2; the tokens are WordPiece's, as BERT's."""

    experiment: ClassVar[str] = "gpt2"
    model_name: ClassVar[str] = "GPT-2"


class Gpt2Study(Study):
    """The parameters of ``notebooks/gpt2``; ``None`` means what the scale says."""

    scales: ClassVar = SCALES
    of_plan: ClassVar = {"search": SEARCH}

    scale: Literal["quick", "cpu", "gpu", "paper"] = Field("quick", description="how much to run")
    plan: Literal["kinds", "search"] = Field("kinds", description="all runs, or diffusion at several learning rates")
    residuals: tuple[Kind, ...] | None = Field(None, min_length=1, description="residual kinds")
    depths: tuple[Depth, ...] | None = Field(None, min_length=1, description="numbers of layers")
    seeds: tuple[Seed, ...] | None = Field(None, min_length=1, description="one run for each")
    steps: int | None = Field(None, ge=1, description="training steps of one run; None for those of the scale")
    device: Literal["cpu", "cuda"] = Field("cpu", description="where to train")

    _once = field_validator("residuals", "depths", "seeds")(unique)

    def runs(self) -> list[Gpt2Run]:
        """The runs of the study: seeds outermost, so that a stopped sweep leaves whole comparisons."""
        setting = Gpt2Run(**SETTINGS[self.scale])
        own = {"steps": self.steps or setting.steps}
        factors = SEARCHED if self.plan == "search" else (1.0,)
        return [
            Gpt2Run(
                residual=kind,
                theta_init=0.0 if kind in MIXED_KINDS else None,
                seed=seed,
                **(SETTINGS[self.scale] | {"depth": depth, "lr": factor * setting.lr} | own),
            )
            for seed in self.chosen("seeds")
            for depth in self.chosen("depths")
            for kind in self.chosen("residuals")
            for factor in factors
        ]
