"""GLUE: fine-tuning from a pre-trained BERT of each residual kind, task by task."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, computed_field, field_validator, model_validator

from wavy.experiments.bert_plans import CLAIMED, LONGER, bert_run
from wavy.experiments.bert_run import BertRun
from wavy.experiments.fields import Epochs, Kind, Seed, Study, unique

Task = Literal["cola", "sst2", "mrpc", "stsb", "qqp", "mnli", "qnli", "rte", "wnli"]
#: The tasks whose files can be looked up, those first that the paper has a number of its own for.
SIX = ("stsb", "mrpc", "rte", "wnli", "cola", "sst2")
NINE = (*SIX, "qnli", "qqp", "mnli")

#: What each scale changes in the defaults of a run.
SETTINGS = {
    "quick": {"train_limit": 400, "epochs": 1, "lr": 1e-3, "length": 32},
    "cpu": {"train_limit": 5000, "lr": 1e-3},
    "gpu": {"train_limit": 5000, "length": 128, "lr": 3e-4},
    "paper": {"length": 128},
}

#: What each scale means where a parameter is ``None``.
SCALES = {
    "quick": {"tasks": ("mrpc",), "residuals": ("diffusion", "light"), "seeds": (0,)},
    "cpu": {"tasks": SIX, "residuals": CLAIMED, "seeds": (0, 1, 2, 3, 4)},
    "gpu": {"tasks": SIX, "residuals": CLAIMED, "seeds": (0,)},
    "paper": {"tasks": NINE, "residuals": CLAIMED, "seeds": (0, 1, 2, 3, 4)},
}
#: Learning rates among which the held-out part of one task chooses, on diffusion alone.
SEARCHED = (1e-4, 3e-4, 1e-3, 3e-3)
#: What the search has in place of a scale's values.
SEARCH = {"tasks": ("sst2",), "residuals": ("diffusion",), "seeds": (0,)}


class GlueRun(BaseModel):
    """All that determines one fine-tuned model, its pre-training included; the defaults are the published recipe."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    experiment: ClassVar[str] = "glue"
    model_name: ClassVar[str] = "BERT"

    dataset: Task = "stsb"
    pretraining: BertRun = BertRun()
    seed: Seed = Field(0, description="of the new head, order and dropout")
    epochs: Epochs = 3
    length: int = Field(64, ge=5, description="tokens of an example, at most; what is longer is cut")
    batch_size: int = Field(32, ge=1)
    lr: float = Field(5e-5, gt=0, description="highest learning rate; it falls linearly to 0")
    warmup: float = Field(0.1, ge=0, lt=1, description="share of the steps in which it rises")
    weight_decay: float = Field(0.1, ge=0)
    clip: float = Field(1.0, gt=0, description="largest norm of the gradient")
    dropout: float = Field(0.1, ge=0, lt=1)
    train_limit: int | None = Field(None, ge=20, description="labelled examples of the training split, at most")
    held_out: float = Field(0.1, gt=0, lt=1, description="share of them that selects the epoch")

    @model_validator(mode="after")
    def _has_places(self) -> Self:
        if self.length > self.pretraining.places:
            raise ValueError(
                f"length: found {self.length}, allowed {self.pretraining.places} or less, the places of the model"
            )
        return self

    @computed_field
    @property
    def residual(self) -> str:
        """The residual kind, for the results row."""
        return self.pretraining.residual

    @computed_field
    @property
    def depth(self) -> int:
        """The number of layers, for the results row."""
        return self.pretraining.depth

    @computed_field
    @property
    def tau(self) -> float:
        """The step size, for the results row."""
        return self.pretraining.tau

    @property
    def precision(self) -> str:
        """That of the pre-training."""
        return self.pretraining.precision


class GlueStudy(Study):
    """The parameters of a sweep over tasks and kinds; ``None`` means what the scale says."""

    scales: ClassVar = SCALES
    of_plan: ClassVar = {"search": SEARCH}

    scale: Literal["quick", "cpu", "gpu", "paper"] = Field("quick", description="how much to run")
    plan: Literal["kinds", "search"] = Field("kinds", description="all runs, or diffusion at several learning rates")
    tasks: tuple[Task, ...] | None = Field(None, min_length=1, description="tasks of GLUE")
    residuals: tuple[Kind, ...] | None = Field(None, min_length=1, description="residual kinds")
    seeds: tuple[Seed, ...] | None = Field(None, min_length=1, description="of pre-training and fine-tuning")
    device: Literal["cpu", "cuda"] = Field("cpu", description="where to train")

    _once = field_validator("tasks", "residuals", "seeds")(unique)

    def runs(self) -> list[GlueRun]:
        """The runs of the study: seeds outermost, then tasks, so that a stopped sweep leaves whole comparisons."""
        setting, plan = SETTINGS[self.scale], "longer" if self.scale in LONGER else "kinds"
        rates = SEARCHED if self.plan == "search" else (setting.get("lr", GlueRun.model_fields["lr"].default),)
        return [
            GlueRun(
                dataset=task,
                pretraining=bert_run(kind, self.scale, plan, seed=seed),
                seed=seed,
                **(setting | {"lr": lr}),
            )
            for seed in self.chosen("seeds")
            for task in self.chosen("tasks")
            for kind in self.chosen("residuals")
            for lr in rates
        ]
