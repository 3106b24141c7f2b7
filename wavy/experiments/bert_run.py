"""One run of BERT's pre-training: what determines it."""

from __future__ import annotations

from typing import ClassVar, Self

from pydantic import Field, model_validator

from wavy.experiments.language_run import LanguageRun

#: What two runs must share for the weights of one to serve the other, that is the tokens and the model.
SHARED = (
    "dataset", "limit", "vocab_size", "residual", "depth", "tau", "form", "dim", "heads", "mlp_dim", "precision",
    "places",
)  # fmt: skip


class BertRun(LanguageRun):
    """All that determines one pre-trained BERT."""

    experiment: ClassVar[str] = "bert"
    model_name: ClassVar[str] = "BERT"

    nsp: bool = Field(True, description="whether pairs of spans are classified, too")
    masked: float = Field(0.15, gt=0, le=1, description="share of the tokens that are predicted")
    positions: int | None = Field(
        None, ge=5, description="places that the model has embeddings for, for longer texts later; None for length"
    )
    start: BertRun | None = Field(None, description="the run whose trained weights this one starts from; None for new")

    @model_validator(mode="after")
    def _has_places(self) -> Self:
        if self.places < self.length:
            raise ValueError(f"positions: found {self.positions}, allowed {self.length} or more, the length")
        return self

    @model_validator(mode="after")
    def _can_start_there(self) -> Self:
        for name in SHARED if self.start else ():
            own, others = getattr(self, name), getattr(self.start, name)
            if own != others:
                raise ValueError(f"start: found a run with {name} {others}, allowed one with {own}")
        return self

    def __str__(self) -> str:
        """As of all language runs, with the steps before its start."""
        return super().__str__() + (f", after {self.start.steps}" if self.start else "")

    @property
    def places(self) -> int:
        """The number of places, whether trained or not."""
        return self.positions or self.length
