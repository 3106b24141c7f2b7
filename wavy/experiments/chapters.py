"""The parameters of the derivation chapters' notebooks, with the ranges in which they make sense."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from wavy.experiments.fields import Depth, Epochs, Kind, Seed, Tau
from wavy.experiments.transformer import Norm

Tokens = Annotated[int, Field(ge=2, le=1797, description="images of digits as tokens")]
Layers = Annotated[int, Field(ge=1, le=10_000, description="layers without a model")]
Graph = Literal["cora", "citeseer", "pubmed", "digits"]
Images = Annotated[int, Field(ge=1, le=300, description="test images")]
#: Strictly between its ends, where theta is finite, or where the form ``stock`` is defined.
Share = Annotated[float, Field(gt=0, lt=1)]
Sharpness = Annotated[float, Field(ge=0, le=100, description="of attention; 0 is uniform")]


class _Chapter(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Oversmoothing(_Chapter):
    """Parameters of ``notebooks/oversmoothing``."""

    num_tokens: Tokens = 48
    num_layers: Layers = 40
    tau: Tau = 0.5
    lam: Share = 0.5
    sharpness: Sharpness = 0.5
    depth: Depth = 12
    norm: Norm = "post"
    epochs: Epochs = 6


class Diffusion(_Chapter):
    """Parameters of ``notebooks/diffusion``; the end of a model is its last three layers."""

    num_tokens: Tokens = 48
    num_layers: Layers = 40
    sharpness: Sharpness = 0.5
    tau: Share = 0.5
    depth: Annotated[Depth, Field(ge=3)] = 12
    epochs: Epochs = 6
    seed: Seed = 0
    num_images: Images = 50


class Symplectic(_Chapter):
    """Parameters of ``notebooks/symplectic``."""

    num_tokens: Tokens = 12
    num_layers: Layers = 200
    tau: Tau = 0.5
    num_images: Images = 50
    num_jacobians: Images = 2
    seed: Seed = 0


class Velocity(_Chapter):
    """Parameters of ``notebooks/velocity``; a spring at rest passes its centre within four layers."""

    depth: Annotated[Depth, Field(ge=4)] = 12
    epochs: Epochs = 3
    seed: Seed = 0
    num_images: Images = 100
    rate: float = Field(0.1, ge=0, lt=1, description="dropout")


class Residuals(_Chapter):
    """Parameters of ``notebooks/residuals``."""

    tau: Share = 0.5
    lam: Share = 0.5
    mu: float = Field(0.5, gt=0, le=4, description="eigenvalue of the Laplacian in the examples of one mode")
    num_layers: Layers = 40
    graph: Graph = "digits"
    depth: Depth = 12
    epochs: Epochs = 6
    seed: Seed = 0


class Diagnostics(_Chapter):
    """Parameters of ``notebooks/diagnostics``."""

    residual: Kind = "diffusion"
    norm: Norm = "pre"
    depth: Depth = 12
    epochs: Epochs = 6


class Hosts(_Chapter):
    """Parameters of ``notebooks/hosts``; ``residual`` is that of the fine-tuned models."""

    num_layers: Annotated[Depth, Field(ge=2)] = 12
    tau: Share = 0.5
    low_start: float = Field(-30.0, ge=-60, le=0, description="theta at which a kind with a lambda starts as diffusion")
    residual: Kind = "light"
    depth: Depth = 6
    epochs: Epochs = 3
    seed: Seed = 0


class Collapse(_Chapter):
    """Parameters of ``notebooks/collapse``."""

    dataset: Graph = "cora"
    depth: Annotated[Depth, Field(ge=8)] = 24
    shallow: Depth = 8
    deep: Depth = 20
    tau: Tau = 0.2
    epochs: Epochs = 60
    seed: Seed = 0


class Efficiency(_Chapter):
    """Parameters of ``notebooks/efficiency``; times are recorded ones."""

    batch: int = Field(1, ge=1, le=1024, description="examples for which products are counted")


class Trained(_Chapter):
    """Parameters of ``notebooks/trained``, which reads recorded rows."""

    scale: Literal["cpu", "gpu", "paper"] = Field("cpu", description="that of the recorded runs")
