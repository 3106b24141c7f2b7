"""One run of DIFFormer on a graph: all that determines its result."""

from __future__ import annotations

from typing import ClassVar, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

from wavy.dynamics import MIXED_KINDS
from wavy.experiments.fields import Depth, Epochs, Kind, Seed, Tau

#: Graphs without a public split, or with one that is not the published setting's.
RandomSplit = Literal[
    "cora", "citeseer", "pubmed", "digits", "photo", "computers", "coauthor_cs", "coauthor_physics"
]  # fmt: skip
#: Graphs that come with ten splits.
TenSplits = Literal[
    "actor", "chameleon", "chameleon_filtered", "squirrel", "squirrel_filtered", "texas", "cornell", "wisconsin",
    "tolokers", "minesweeper",
]  # fmt: skip
#: Large graphs with one public split, of the Open Graph Benchmark.
OneSplit = Literal["ogbn-arxiv", "ogbn-proteins"]
Dataset = Literal[RandomSplit, TenSplits, OneSplit]
_LARGE = get_args(OneSplit)
#: Weight decay of the published settings; small graphs that are not in them take Cora's.
WEIGHT_DECAY = dict.fromkeys(get_args(Dataset), 1e-2) | {"citeseer": 1.0, "pubmed": 1e-4} | dict.fromkeys(_LARGE, 0.0)
#: The split that a graph is used with.
SPLIT = dict.fromkeys(get_args(RandomSplit), "random") | dict.fromkeys((*get_args(TenSplits), *_LARGE), "public")
#: What else the published setting of large graphs changes in a run's defaults; it was published for ogbn-proteins, and
#: ogbn-arxiv takes the same.
LARGE_SETTING = {
    "lr": 1e-2, "dropout": 0.0, "use_weight": True, "normalize_features": False, "batch_size": 10_000, "eval_every": 9,
}  # fmt: skip
#: Graphs whose authors report ROC-AUC; it takes the place of accuracy, binary cross entropy that of cross entropy.
ROC_AUC = ("tolokers", "minesweeper", "ogbn-proteins")
#: Graph -> what its setting changes in a run's defaults.
SETTINGS = {
    name: {"weight_decay": WEIGHT_DECAY[name], "split": SPLIT[name]}
    | ({"metric": "roc_auc"} if name in ROC_AUC else {})
    | (LARGE_SETTING if name in _LARGE else {})
    for name in get_args(Dataset)
}


class DifformerRun(BaseModel):
    """All that determines the result of one run; the defaults are the published settings for Cora."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
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
    batch_size: int | None = Field(None, ge=1, description="nodes a mini-batch; None for the full graph in one step")
    metric: Literal["accuracy", "roc_auc"] = "accuracy"
    eval_every: int = Field(1, ge=1, description="evaluate the first epoch and then every so many")
    lam: float | None = Field(None, ge=0, le=1, description="a lambda that stays as it is; None trains theta")
    graph_weight: float | None = Field(None, gt=0, le=1, description="share of the graph in A; None: the operator's")
    standardize: bool = Field(False, description="bring the last state to mean 0 and deviation 1 over the nodes")

    @model_validator(mode="after")
    def _one_lambda_where_there_is_one(self) -> Self:
        for name in ("lam", "theta_init"):
            if getattr(self, name) is not None and self.residual not in MIXED_KINDS:
                raise ValueError(f"{name}: found a number, but {self.residual!r} has no lambda; allowed None")
        if self.lam is not None and self.theta_init is not None:
            raise ValueError("theta_init: found a number beside lam, which is not trained; allowed None")
        return self
