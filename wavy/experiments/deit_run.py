"""One run on images: a vision transformer with a residual of some kind, or with another remedy."""

from __future__ import annotations

from typing import ClassVar, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

from wavy.checks import check_divisor
from wavy.dynamics import MIXED_KINDS
from wavy.experiments.fields import Depth, Epochs, Kind, Seed, Tau

Images = Literal["digits", "cifar10", "tiny_imagenet100", "imagenet"]
#: Side in pixels of the data sets whose images all have the same.
PIXELS = {"digits": 8, "cifar10": 32, "tiny_imagenet100": 64}
#: Names of :data:`wavy.remedies.vision.REMEDIES`; a test holds the two against each other.
Remedy = Literal["rezero", "skipinit", "layerscale", "attnscale", "contranorm", "neutreno"]
KINDS = get_args(Kind)
VELOCITY_KINDS = ("full", "mix_full")
#: A batch of the augmentation ``deit`` holds three versions of each image, and mixes them in pairs.
DEIT_BATCHES = 6


class DeitRun(BaseModel):
    """All that determines the result of one run; the defaults are those of most runs of scale ``cpu``.

    In the form ``stock``, which all blocks have, ``tau = 0.5`` is the host's own X + A X, as published.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    experiment: ClassVar[str] = "deit"

    dataset: Images = "cifar10"
    model: Literal["deit", "cait"] = "deit"
    residual: Literal[Kind, Remedy] = "diffusion"
    depth: Depth = 12
    tau: Tau | None = Field(0.5, lt=1, description="step size; None for remedies")
    seed: Seed = Field(0, description="of weights, order, augmentation and drop path")
    theta_init: float | None = Field(None, description="start value of theta; None for kinds without a lambda")
    featscale: bool = False
    velocity_mlp: bool = Field(True, description="whether a velocity passes the mlp as FFN_v")
    dim: int = Field(64, ge=1)
    heads: int = Field(2, ge=1)
    patch_size: int = Field(8, ge=1)
    size: int | None = Field(None, ge=1, description="side of the images for the model; None for that of the data")
    images: int | None = Field(10_000, ge=1, description="training images; None for all")
    epochs: Epochs = 12
    batch_size: int = Field(64, ge=1, description="images a step, all versions of an image counted")
    lr: float = Field(1e-3, gt=0, description="after warm-up; it falls to 0 as a cosine")
    weight_decay: float = Field(0.05, ge=0)
    warmup_epochs: float = Field(2.0, ge=0)
    clip: float | None = Field(1.0, gt=0, description="largest norm of the gradient; None for any")
    augmentation: Literal["plain", "light", "deit"] = "light"
    drop_path: float = Field(0.0, ge=0, lt=1)
    smoothing: float = Field(0.1, ge=0, lt=1, description="of labels, where the augmentation does not mix them")
    precision: Literal["float64", "float32", "bf16", "fp16"] = "float32"

    @property
    def model_name(self) -> str:
        """The network, for the results row."""
        name = {"deit": "DeiT", "cait": "CaiT"}[self.model]
        return f"{name} + FeatScale" if self.featscale else name

    @model_validator(mode="after")
    def _options_that_the_residual_has(self) -> Self:
        kind = self.residual in KINDS
        if kind != (self.tau is not None):
            raise ValueError(f"tau: found {self.tau} for {self.residual}, allowed {'a number' if kind else 'None'}")
        if (self.theta_init is not None) != (self.residual in MIXED_KINDS):
            allowed = "a number" if self.residual in MIXED_KINDS else "None"
            raise ValueError(f"theta_init: found {self.theta_init} for {self.residual}, allowed {allowed}")
        if not self.velocity_mlp and self.residual not in VELOCITY_KINDS:
            raise ValueError(f"velocity_mlp: found False for {self.residual}, allowed True: it has no velocity")
        if not kind and (self.featscale or self.model != "deit"):
            raise ValueError(f"residual: found {self.residual} with FeatScale or CaiT, allowed {', '.join(KINDS)}")
        return self

    @model_validator(mode="after")
    def _numbers_that_fit(self) -> Self:
        if self.dim % self.heads:
            raise ValueError(f"heads: found {self.heads}, allowed a divisor of dim = {self.dim}")
        if side := self.size or PIXELS.get(self.dataset):
            check_divisor("patch_size", self.patch_size, "the side of the images", side)
        if self.augmentation == "deit" and self.batch_size % DEIT_BATCHES:
            raise ValueError(
                f"batch_size: found {self.batch_size} with augmentation deit, allowed a multiple of {DEIT_BATCHES}"
            )
        return self
