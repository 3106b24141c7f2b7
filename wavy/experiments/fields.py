"""The types that the parameters of several experiments share."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

Kind = Literal["diffusion", "full", "light", "mix_full", "mix_light"]
Tau = Annotated[float, Field(gt=0, le=1)]
Depth = Annotated[int, Field(ge=1, le=256)]
Seed = Annotated[int, Field(ge=0, lt=2**32)]
Epochs = Annotated[int, Field(ge=1)]


def unique(values: tuple | None) -> tuple | None:
    """A validator: each value may stand there once."""
    if values is not None and len(set(values)) < len(values):
        raise ValueError("each value may stand there once")
    return values
