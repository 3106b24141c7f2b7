"""BERT from scratch with any residual kind: masked tokens and next sentences."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from wavy.experiments.bert_plans import LONGER, PLANS, SCALES, SEARCHED, bert_run
from wavy.experiments.bert_run import BertRun
from wavy.experiments.fields import Kind, Seed, Study, unique

__all__ = ["BertRun", "BertStudy"]


class BertStudy(Study):
    """The parameters of ``notebooks/bert``; ``None`` means what the scale says."""

    scales: ClassVar = SCALES
    of_plan: ClassVar = PLANS

    scale: Literal["quick", "cpu", "gpu", "paper"] = Field("quick", description="how much to run")
    plan: Literal["kinds", "deep", "search", "longer"] = Field(
        "kinds", description="the scale's model, many narrow layers, several learning rates, or on to longer texts"
    )
    residuals: tuple[Kind, ...] | None = Field(None, min_length=1, description="residual kinds")
    seeds: tuple[Seed, ...] | None = Field(None, min_length=1, description="one run for each")
    steps: int | None = Field(
        None, ge=1, description="training steps of one run, not of what it starts from; None for those of the scale"
    )
    device: Literal["cpu", "cuda"] = Field("cpu", description="where to train")

    _once = field_validator("residuals", "seeds")(unique)

    @model_validator(mode="after")
    def _can_go_on(self) -> Self:
        if self.plan == "longer" and self.scale not in LONGER:
            raise ValueError(f"plan: found longer at scale {self.scale}, allowed at {', '.join(LONGER)}")
        return self

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
