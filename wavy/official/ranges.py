"""Ranges of the published hyper-parameters, under their published names."""

from __future__ import annotations

import math


def check_positive(name: str, value: object, most: float = math.inf) -> None:
    """Check that ``value`` is a finite number, above 0 and at most ``most``.

    Raises:
        ValueError: it is not.
    """
    if not is_number(value) or not 0 < value <= most or value == math.inf:
        raise ValueError(f"{name}: found {value!r}, allowed 0 < {name}{'' if most == math.inf else f' <= {most}'}")


def is_number(value: object) -> bool:
    """Whether ``value`` is a number, and not nan or a truth value."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and not math.isnan(value)
