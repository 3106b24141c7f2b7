"""DeiT and CaiT on images: residual kinds, FeatScale, depth, and other remedies against over-smoothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from wavy.experiments.deit_plans import PAPER_PLANS, PLANS, SIDES, Plan, PlanName, deit_run
from wavy.experiments.deit_run import DeitRun, Remedy
from wavy.experiments.fields import Epochs, Kind, Seed, Study, unique

__all__ = ["DeitRun", "DeitStudy"]

#: What each scale means where a parameter is ``None``.
SCALES = {
    "quick": {"plans": ("kinds",), "residuals": SIDES},
    "cpu": {"plans": tuple(PLANS), "residuals": None},
    "gpu": {"plans": ("kinds",), "residuals": None},
    "paper": {"plans": ("kinds", "parts", "mixes", "cait"), "residuals": None},
}
#: How many seeds a scale has time for, where a plan would have more.
MOST_SEEDS = {"quick": 1, "gpu": 2}


class DeitStudy(Study):
    """The parameters of ``notebooks/deit``; ``None`` means what the scale says."""

    scales: ClassVar = SCALES

    scale: Literal["quick", "cpu", "gpu", "paper"] = Field("quick", description="how much to run")
    plans: tuple[PlanName, ...] | None = Field(None, min_length=1, description="which questions, one after another")
    residuals: tuple[Literal[Kind, Remedy], ...] | None = Field(
        None, min_length=1, description="only these kinds and remedies of the plans"
    )
    seeds: tuple[Seed, ...] | None = Field(None, min_length=1, description="one run for each; None for the plan's")
    epochs: Epochs | None = Field(None, description="passes over the training images; None for those of the plan")
    device: Literal["cpu", "cuda"] = Field("cpu", description="where to train")

    _once = field_validator("plans", "residuals", "seeds")(unique)

    @model_validator(mode="after")
    def _some_run(self) -> Self:
        if not self.runs():  # so there are residuals, and none of them is in a plan
            plans = ", ".join(self.chosen("plans"))
            raise ValueError(f"residuals: found {', '.join(self.residuals)}, allowed those of the plans {plans}")
        return self

    def runs(self) -> list[DeitRun]:
        """The runs of the study: plan by plan, and in each seeds outermost, so that whole comparisons stand early."""
        only, budget = self._only(), {} if self.epochs is None else {"epochs": self.epochs}
        return list(
            dict.fromkeys(
                deit_run(self.scale, **(cell | budget), seed=seed)
                for plan in self._plans()
                for seed in self._seeds(plan)
                for cell in plan.cells
                if only is None or cell.get("residual", "diffusion") in only
            )
        )

    def _only(self) -> tuple[str, ...] | None:
        # A reader who names plans gets the whole of them.
        return self.residuals or (self.chosen("residuals") if self.plans is None else None)

    def _plans(self) -> list[Plan]:
        known = PLANS | PAPER_PLANS if self.scale == "paper" else PLANS
        return [known[name] for name in self.chosen("plans")]

    def _seeds(self, plan: Plan) -> Iterable[int]:
        return self.seeds or range(min(plan.seeds, MOST_SEEDS.get(self.scale, plan.seeds)))
