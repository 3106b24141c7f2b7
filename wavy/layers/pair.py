"""A state and its velocity, as they pass through a layer together."""

from __future__ import annotations

from torch import Tensor

Pair = tuple[Tensor, Tensor | None]


def check_pair(x: Tensor, velocity: Tensor | None) -> None:
    """Raise ValueError unless the velocity has the state's shape."""
    if velocity is not None and velocity.shape != x.shape:
        found, allowed = tuple(velocity.shape), tuple(x.shape)
        raise ValueError(f"velocity: found shape {found}, allowed that of x, {allowed}")
