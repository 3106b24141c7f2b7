"""DIFFormer on citation graphs: accuracy against depth for every residual kind."""

from __future__ import annotations

from typing import ClassVar, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, field_validator

from wavy.dynamics import MIXED_KINDS
from wavy.experiments.fields import Depth, Epochs, Kind, Seed, Study, Tau, unique

#: Graphs without a public split, or with one that is not the published setting's.
RandomSplit = Literal[
    "cora", "citeseer", "pubmed", "digits", "photo", "computers", "coauthor_cs", "coauthor_physics"
]  # fmt: skip
#: Graphs that come with ten splits.
TenSplits = Literal[
    "actor", "chameleon", "chameleon_filtered", "squirrel", "squirrel_filtered", "texas", "cornell", "wisconsin",
    "tolokers", "minesweeper",
]  # fmt: skip
Dataset = Literal[RandomSplit, TenSplits]
#: Weight decay of the published settings; graphs that are not in them take Cora's.
WEIGHT_DECAY = dict.fromkeys(get_args(Dataset), 1e-2) | {"citeseer": 1.0, "pubmed": 1e-4}
#: The split that a graph is used with.
SPLIT = dict.fromkeys(get_args(RandomSplit), "random") | dict.fromkeys(get_args(TenSplits), "public")

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


class DifformerRun(BaseModel):
    """All that determines the result of one run; the defaults are the published settings for Cora."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    experiment: ClassVar[str] = "difformer"
    model_name: ClassVar[str] = "DIFFormer"

    dataset: Dataset = "cora"
    residual: Kind = "diffusion"
    depth: Depth = 8
    tau: Tau = 0.5
    seed: Seed = 0
    epochs: Epochs = 500
    theta_init: float | None = Field(None, description="start value of theta; None for kinds without a lambda")
    lr: float = Field(1e-3, gt=0)
    weight_decay: float = Field(1e-2, ge=0)
    dropout: float = Field(0.2, ge=0, lt=1)
    hidden_channels: int = Field(64, ge=1)
    heads: int = Field(1, ge=1)
    kernel: Literal["simple", "sigmoid"] = "simple"
    operator: Literal["published", "row_stochastic"] = "published"
    use_weight: bool = False
    use_source: bool = False
    use_norm: bool = True
    normalize_features: bool = True
    split: Literal["random", "public"] = "random"
    patience: int | None = Field(None, ge=1, description="epochs without a better validation accuracy before a stop")
    dtype: Literal["float32", "float64"] = "float32"


class DifformerStudy(Study):
    """The parameters of ``notebooks/difformer``; ``None`` means what the scale says."""

    scales: ClassVar = SCALES

    scale: Literal["quick", "cpu", "gpu"] = Field("quick", description="how much to run: seconds, hours, or a GPU")
    dataset: Dataset = Field("cora", description="graph to train on")
    depths: tuple[Depth, ...] | None = Field(None, min_length=1, description="numbers of layers")
    taus: tuple[Tau, ...] | None = Field(None, min_length=1, description="step sizes, 0 < tau <= 1")
    residuals: tuple[Kind, ...] | None = Field(None, min_length=1, description="residual kinds")
    seeds: tuple[Seed, ...] | None = Field(
        None, min_length=1, description="one run for each; also the seed of the split"
    )
    epochs: Epochs | None = Field(None, description="training epochs of one run")
    device: Literal["cpu", "cuda"] = Field("cpu", description="where to train")

    _once = field_validator("depths", "taus", "residuals", "seeds")(unique)

    def runs(self) -> list[DifformerRun]:
        """The runs of the study: seeds outermost, so that a stopped sweep leaves whole comparisons."""
        return [
            DifformerRun(
                dataset=self.dataset,
                residual=residual,
                depth=depth,
                tau=tau,
                seed=seed,
                epochs=self.chosen("epochs"),
                theta_init=0.0 if residual in MIXED_KINDS else None,
                weight_decay=WEIGHT_DECAY[self.dataset],
                split=SPLIT[self.dataset],
                # Rounding differs between machines; in double precision it does not grow into other predictions.
                dtype="float64" if self.scale == "quick" else "float32",
            )
            for seed in self.chosen("seeds")
            for depth in self.chosen("depths")
            for tau in self.chosen("taus")
            for residual in self.chosen("residuals")
        ]
