"""What the parameters of several experiments share: types, and the choice of a scale."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

Kind = Literal["diffusion", "full", "light", "mix_full", "mix_light"]
Tau = Annotated[float, Field(gt=0, le=1)]
Depth = Annotated[int, Field(ge=1, le=256)]
Seed = Annotated[int, Field(ge=0, lt=2**32)]
Epochs = Annotated[int, Field(ge=1)]


def worded(name: str, value: object) -> str:
    """A field and its value in words, for instance "tau 0.5"."""
    return f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"


def unique(values: tuple | None) -> tuple | None:
    """A validator: each value may stand there once."""
    twice = [str(value) for value in dict.fromkeys(values or ()) if values.count(value) > 1]
    if twice:
        raise ValueError(f"found {', '.join(twice)} more than once, allowed each value once")
    return values


class Study(BaseModel):
    """Parameters of which ``None`` means what the plan or else the scale says.

    A subclass has the field ``scale`` and its scales; where some plan has values of its own, a field ``plan``, too.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    scales: ClassVar[dict[str, dict[str, object]]]
    of_plan: ClassVar[dict[str, dict[str, object]]] = {}

    minutes: float | None = Field(None, ge=0, description="start no new run after this time; None for no limit")

    def chosen(self, name: str) -> object:
        """A parameter's value; where it is ``None``, that of the plan or of the scale."""
        value = getattr(self, name)
        if value is not None:
            return value
        own = self.of_plan.get(self.plan, {}) if self.of_plan else {}
        return (self.scales[self.scale] | own)[name]
