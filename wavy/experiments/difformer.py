"""DIFFormer on citation graphs: accuracy against depth for every residual kind."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from wavy.experiments.difformer_plans import PLANS, run
from wavy.experiments.difformer_run import Dataset, DifformerRun
from wavy.experiments.fields import Depth, Epochs, Kind, Seed, Study, Tau, unique

__all__ = ["DifformerRun", "DifformerStudy"]

#: What each scale means where the parameters cell says ``None``.
SCALES = {
    "quick": {
        "depths": (2, 8),
        "taus": (0.2,),
        "residuals": ("diffusion", "full", "light", "mix_full"),
        "seeds": (0,),
        "epochs": 40,
    },
    "cpu": {
        "depths": (2, 4, 8, 12, 16, 20),
        "taus": (0.2, 0.5),
        "residuals": ("diffusion", "light", "full", "mix_full"),
        "seeds": (0, 1, 2),
        "epochs": 500,
    },
    "gpu": {
        "depths": (2, 4, 8, 12, 16, 20, 32),
        "taus": (0.2, 0.5),
        "residuals": ("diffusion", "full", "light", "mix_full", "mix_light"),
        "seeds": (0, 1, 2, 3, 4),
        "epochs": 500,
    },
}


#: What the large graphs have in place of a scale's values, but for the epochs of scale ``quick``: the depths that the
#: sources make claims about, and the epochs published for ogbn-proteins.
LARGE_SCALES = {
    "ogbn-arxiv": {"depths": (3, 5, 7), "epochs": 1000},
    "ogbn-proteins": {"depths": (3, 5), "epochs": 1000},
}


class DifformerStudy(Study):
    """The parameters of ``notebooks/difformer``; ``None`` means what the scale says."""

    scales: ClassVar = SCALES

    scale: Literal["quick", "cpu", "gpu"] = Field("quick", description="how much to run: seconds, hours, or a GPU")
    plan: Literal["depth", "claims", "search", "confirm", "causes", "factors", "graphs"] = Field(
        "depth", description="which runs: depths x taus x residuals x seeds, or those of a plan, at scale cpu or gpu"
    )
    dataset: Dataset = Field("cora", description="graph to train on; a plan names its own")
    depths: tuple[Depth, ...] | None = Field(None, min_length=1, description="numbers of layers")
    taus: tuple[Tau, ...] | None = Field(None, min_length=1, description="step sizes, 0 < tau <= 1")
    residuals: tuple[Kind, ...] | None = Field(None, min_length=1, description="residual kinds")
    seeds: tuple[Seed, ...] | None = Field(
        None, min_length=1, description="one run for each; also the seed of the split"
    )
    epochs: Epochs | None = Field(None, description="training epochs of one run")
    device: Literal["cpu", "cuda"] = Field("cpu", description="where to train")

    _once = field_validator("depths", "taus", "residuals", "seeds")(unique)

    @model_validator(mode="after")
    def _plans_are_long(self) -> Self:
        if self.plan == "depth":
            return self
        if self.scale == "quick":
            raise ValueError(f"scale: found 'quick' with the plan {self.plan!r}, allowed cpu, gpu")
        if self.epochs is not None or self.dataset != "cora":
            raise ValueError(f"plan: found {self.plan!r} with epochs or a dataset, allowed neither: it names its own")
        if not self.runs():
            raise ValueError(f"plan: found no run of {self.plan!r} with these depths, taus, residuals and seeds")
        return self

    def chosen(self, name: str) -> object:
        """A parameter's value; where it is ``None``, that of the large graph or of the scale."""
        large = LARGE_SCALES.get(self.dataset, {})
        if getattr(self, name) is None and name in large and (self.scale, name) != ("quick", "epochs"):
            return large[name]
        return super().chosen(name)

    def runs(self) -> list[DifformerRun]:
        """The runs of the study: seeds outermost, so that a stopped sweep leaves whole comparisons."""
        if self.plan != "depth":
            return [planned for planned in PLANS[self.plan]() if self._asked_for(planned)]
        return [
            run(
                residual,
                dataset=self.dataset,
                depth=depth,
                tau=tau,
                seed=seed,
                epochs=self.chosen("epochs"),
                # Rounding differs between machines; in double precision it does not grow into other predictions.
                dtype="float64" if self.scale == "quick" else "float32",
            )
            for seed in self.chosen("seeds")
            for depth in self.chosen("depths")
            for tau in self.chosen("taus")
            for residual in self.chosen("residuals")
        ]

    def _asked_for(self, planned: DifformerRun) -> bool:
        wanted = ((self.depths, "depth"), (self.taus, "tau"), (self.residuals, "residual"), (self.seeds, "seed"))
        return all(values is None or getattr(planned, name) in values for values, name in wanted)
