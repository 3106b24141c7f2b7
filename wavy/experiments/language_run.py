"""What determines a language model that is trained from scratch: text, model and recipe, for BERT and GPT-2 alike."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from wavy.dynamics import MIXED_KINDS
from wavy.experiments.fields import Depth, Kind, Seed, Tau

#: A name that ``wavy.data.text`` knows.
Corpus = Literal["docstrings", "enwiki", "gutenberg", "wikitext2", "wikipedia+bookcorpus", "openwebtext"]


class LanguageRun(BaseModel):
    """The fields that all language models share.

    ``tau = 0.5`` in the form ``stock`` is each kind's published step: diffusion is then the host's own X + A X, which
    the published code of BERT calls tau = 1, and the waves take the step 0.5.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    dataset: Corpus = "wikitext2"
    limit: int | None = Field(
        None, ge=1, description="characters of a split, of a streamed text of training; None for all"
    )
    vocab_size: int = Field(8192, ge=1, description="tokens of the vocabulary trained on the text; 30522 is BERT's own")
    residual: Kind = "diffusion"
    depth: Depth = 12
    tau: Tau = 0.5
    seed: Seed = Field(0, description="of weights, order, masks of training and dropout")
    form: Literal["euler", "stock"] = "stock"
    theta_init: float | None = Field(None, description="start value of theta; None for kinds without a lambda")
    dim: int = Field(128, ge=1)
    heads: int = Field(4, ge=1)
    mlp_dim: int = Field(512, ge=1)
    length: int = Field(64, ge=5, description="tokens a sequence")
    steps: int = Field(1000, ge=1)
    batch_size: int = Field(32, ge=1)
    lr: float = Field(1e-3, gt=0, description="highest learning rate; it falls linearly to 0")
    warmup: float = Field(0.1, ge=0, lt=1, description="share of the steps in which it rises")
    weight_decay: float = Field(0.01, ge=0)
    clip: float = Field(1.0, gt=0, description="largest norm of the gradient")
    dropout: float = Field(0.1, ge=0, lt=1)
    init_std: float = Field(0.02, gt=0, description="of the weights of matrices and embeddings at the start")
    precision: Literal["float64", "float32", "bf16", "fp16"] = "float32"
    evaluated: int = Field(1000, ge=1, description="sequences of validation and of test that are read, at most")

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.dim % self.heads:
            raise ValueError(f"heads: found {self.heads}, allowed a divisor of dim {self.dim}")
        if self.theta_init is not None and self.residual not in MIXED_KINDS:
            raise ValueError(f"theta_init: found a number, but {self.residual!r} has no lambda; allowed None")
        if self.tau == 1 and self.form == "stock":
            raise ValueError("tau: found 1 in the form stock, which divides by 1 - tau; allowed below 1")
        return self

    def __str__(self) -> str:
        """In a few words, for lines of progress; what is left out tells no runs of a sweep apart."""
        return f"of {self.steps} steps at lr {self.lr:g} on {self.dataset}"
