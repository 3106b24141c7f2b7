"""Predictions before any training: does a model of this depth train, by the spectrum of its operator alone?"""

from __future__ import annotations

import math
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from wavy.experiments.difformer import DifformerStudy
from wavy.experiments.difformer_plans import graphs
from wavy.experiments.difformer_run import Dataset, DifformerRun
from wavy.experiments.fields import Depth, Kind, Seed, Study, Tau

#: Where models on Cora begin to train, by the signal ratio with and without LayerNorm, fitted to the runs of the plan
#: ``depth`` recorded there (a test fits it anew), and the same for the ratio times the start ratio.
THRESHOLDS = {"ratio": 0.0231, "bare_ratio": 0.0309, "remainder": 0.00649, "bare_remainder": 0.00882}


class SignalRun(BaseModel):
    """All that determines one prediction; fields as in :class:`wavy.experiments.difformer.DifformerRun`."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    experiment: ClassVar[str] = "signal"
    model_name: ClassVar[str] = "operator"

    dataset: Dataset = "cora"
    residual: Kind = "diffusion"
    depth: Depth = 8
    tau: Tau = 0.5
    seed: Seed = 0
    lam: float | None = Field(None, ge=0, le=1, description="lambda; None for kinds without one")
    operator: Literal["published", "row_stochastic"] = "published"
    graph_weight: float | None = Field(None, gt=0, le=1)
    normalize_features: bool = True
    split: Literal["random", "public"] = "random"


def prediction_of(run: DifformerRun) -> SignalRun:
    """The prediction that belongs to a training run; lambda is where theta starts."""
    lam = run.lam if run.theta_init is None else _sigmoid(run.theta_init)
    shared = set(SignalRun.model_fields) & set(DifformerRun.model_fields) - {"lam"}
    return SignalRun(lam=lam, **{name: getattr(run, name) for name in shared})


def _sigmoid(theta: float) -> float:
    return 1 / (1 + math.exp(-theta))


class SignalStudy(Study):
    """The scores of the runs on Cora to which the thresholds are fitted, and predictions for the plan ``graphs``.

    The predictions were recorded before the runs. A prediction is a hit if the run is trained in the sense of
    :func:`wavy.companion.trainability.trained` exactly where its score reaches the threshold.
    """

    scales: ClassVar = {"cpu": {}}

    scale: Literal["cpu"] = "cpu"
    device: Literal["cpu"] = "cpu"

    def runs(self) -> list[SignalRun]:
        """One for each run of the plans."""
        fitted = DifformerStudy(scale="cpu", dataset="cora").runs()
        return list(dict.fromkeys(prediction_of(run) for run in (*fitted, *graphs())))
