"""The book's small transformer on handwritten digits: the model that the derivation measures."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from wavy.dynamics import MIXED_KINDS
from wavy.experiments.fields import Depth, Epochs, Kind, Seed, Study, Tau, unique

Norm = Literal["pre", "post"]

#: What each scale means where a parameter is ``None``.
SCALES = {
    "quick": {
        "depths": (12,),
        "residuals": ("diffusion", "full", "light"),
        "norms": ("pre",),
        "seeds": (0,),
    },
    "cpu": {
        "depths": (4, 12, 24, 48),
        "residuals": ("diffusion", "full", "light", "mix_full", "mix_light"),
        "norms": ("pre", "post"),
        "seeds": (0, 1, 2),
    },
}


class TransformerRun(BaseModel):
    """All that determines one trained model."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    experiment: ClassVar[str] = "transformer"
    model_name: ClassVar[str] = "Transformer"

    dataset: Literal["digits"] = "digits"
    residual: Kind = "diffusion"
    depth: Depth = 12
    tau: Tau = 0.5
    seed: Seed = Field(0, description="of weights, batches and split")
    epochs: Epochs = 6
    norm: Norm = Field("pre", description="where LayerNorm stands")
    form: Literal["euler", "stock"] = "stock"
    theta_init: float | None = Field(None, description="start value of theta; None for kinds without a lambda")
    use_value: bool = Field(True, description="whether attention has W_V and W_O")
    dim: int = Field(32, ge=1)
    heads: int = Field(2, ge=1)
    mlp_dim: int = Field(64, ge=1)
    dropout: float = Field(0.0, ge=0, lt=1)
    exact_norm: bool = Field(False, description="the velocity passes LayerNorm by the exact derivative")
    batch_size: int = Field(32, ge=1)
    lr: float = Field(3e-3, gt=0, description="highest learning rate of one cycle")
    weight_decay: float = Field(0.05, ge=0)
    dtype: Literal["float32", "float64"] = "float64"


class TransformerStudy(Study):
    """The parameters of a sweep over models; ``None`` means what the scale says."""

    scales: ClassVar = SCALES

    scale: Literal["quick", "cpu"] = Field("quick", description="how much to run: seconds or hours")
    depths: tuple[Depth, ...] | None = Field(None, min_length=1, description="numbers of layers")
    residuals: tuple[Kind, ...] | None = Field(None, min_length=1, description="residual kinds")
    norms: tuple[Norm, ...] | None = Field(None, min_length=1, description="pre-norm or post-norm models")
    seeds: tuple[Seed, ...] | None = Field(None, min_length=1, description="one run for each")
    device: Literal["cpu", "cuda"] = Field("cpu", description="where to train")

    _once = field_validator("depths", "residuals", "norms", "seeds")(unique)

    def runs(self) -> list[TransformerRun]:
        """The runs of the study: seeds outermost, so that a stopped sweep leaves whole comparisons."""
        return [
            TransformerRun(
                residual=residual,
                depth=depth,
                norm=norm,
                seed=seed,
                theta_init=0.0 if residual in MIXED_KINDS else None,
                dtype="float64" if self.scale == "quick" else "float32",
            )
            for seed in self.chosen("seeds")
            for depth in self.chosen("depths")
            for norm in self.chosen("norms")
            for residual in self.chosen("residuals")
        ]
