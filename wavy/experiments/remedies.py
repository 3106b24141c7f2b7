"""Other remedies against over-smoothing beside DIFFormer: accuracy, parameters and time at each depth."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from wavy.experiments.difformer_run import SETTINGS, RandomSplit, TenSplits
from wavy.experiments.fields import Depth, Epochs, Seed, Study, Tau, unique
from wavy.remedies.models import NAMES, WITH_TAU, check_tau, model_name

#: Graphs that fit in one batch, as all remedies are trained.
Dataset = Literal[RandomSplit, TenSplits]
#: A name of :data:`wavy.remedies.models.NAMES`.
Remedy = Literal[NAMES]

#: The step of every remedy that has one.
TAU = 0.2
#: The full table, with ContraNorm last, since its layer takes O(N^2) time.
ALL = (
    *("skipinit", "rezero", "layerscale", "initial", "source", "pairnorm", "dropedge"),
    *("gcn", "gat", "mlp", "appnp", "gcnii", "grand", "graphcon", "pdegcn_diffusion", "pdegcn_wave"),
    *("diffusion", "light", "full", "mix_full", "contranorm"),
)

#: What each scale means where a parameter is ``None``.
SCALES = {
    "quick": {
        "depths": (4,),
        "residuals": ("diffusion", "light", "rezero", "pairnorm", "gcn", "appnp", "graphcon"),
        "seeds": (0,),
        "epochs": 20,
    },
    "cpu": {"depths": (20, 8, 2), "residuals": ALL, "seeds": (0, 1, 2), "epochs": 500},
    "gpu": {"depths": (32, 20, 8, 2), "residuals": ALL, "seeds": (0, 1, 2, 3, 4), "epochs": 500},
}


class RemedyRun(BaseModel):
    """All that determines the result of one run; the defaults are the published settings of DIFFormer for Cora.

    ``residual`` is the remedy's name: for networks of their own, theirs.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    experiment: ClassVar[str] = "remedies"

    dataset: Dataset = "cora"
    residual: Remedy = "gcn"
    depth: Depth = 8
    tau: Tau | None = Field(None, description="step size; None for remedies without one")
    seed: Seed = 0
    epochs: Epochs = 500
    lr: float = Field(1e-3, gt=0)
    weight_decay: float = Field(1e-2, ge=0)
    dropout: float = Field(0.2, ge=0, lt=1)
    hidden_channels: int = Field(64, ge=1)
    normalize_features: bool = True
    split: Literal["random", "public"] = "random"
    metric: Literal["accuracy", "roc_auc"] = "accuracy"
    dtype: Literal["float32", "float64"] = "float32"

    @property
    def model_name(self) -> str:
        """The network, for the results row."""
        return model_name(self.residual)

    @model_validator(mode="after")
    def _tau_where_there_is_one(self) -> Self:
        check_tau(self.residual, self.tau)
        return self


class RemedyStudy(Study):
    """The parameters of a sweep over remedies; ``None`` means what the scale says."""

    scales: ClassVar = SCALES

    scale: Literal["quick", "cpu", "gpu"] = Field("quick", description="how much to run: seconds, hours, or a GPU")
    dataset: Dataset = Field("cora", description="graph to train on")
    depths: tuple[Depth, ...] | None = Field(None, min_length=1, description="numbers of layers")
    residuals: tuple[Remedy, ...] | None = Field(None, min_length=1, description="names of remedies")
    tau: Tau = Field(TAU, description="step size of the remedies that have one")
    seeds: tuple[Seed, ...] | None = Field(
        None, min_length=1, description="one run for each; also the seed of the split"
    )
    epochs: Epochs | None = Field(None, description="training epochs of one run")
    device: Literal["cpu", "cuda"] = Field("cpu", description="where to train")

    _once = field_validator("depths", "residuals", "seeds")(unique)

    def runs(self) -> list[RemedyRun]:
        """The runs of the study: seeds outermost and deep before shallow, so that the hard comparisons stand first."""
        return [
            RemedyRun(
                dataset=self.dataset,
                residual=residual,
                depth=depth,
                tau=self.tau if residual in WITH_TAU else None,
                seed=seed,
                epochs=self.chosen("epochs"),
                dtype="float64" if self.scale == "quick" else "float32",
                **SETTINGS[self.dataset],
            )
            for seed in self.chosen("seeds")
            for depth in self.chosen("depths")
            for residual in self.chosen("residuals")
        ]
