"""One run of DIFFormer on a graph: all that determines its result."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from wavy.experiments.fields import Depth, Epochs, Kind, Seed, Tau

Dataset = Literal["cora", "citeseer", "pubmed", "digits"]
#: Weight decay of the published settings; digits is not in them and takes Cora's.
WEIGHT_DECAY = {"cora": 1e-2, "citeseer": 1.0, "pubmed": 1e-4, "digits": 1e-2}


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
    lam: float | None = Field(None, ge=0, le=1, description="a lambda that stays as it is; None trains theta")
    graph_weight: float | None = Field(None, gt=0, le=1, description="share of the graph in A; None: the operator's")
