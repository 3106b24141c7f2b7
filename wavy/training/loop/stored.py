"""Numbers among the options of a run: checked, and stored as Python's own, whatever library they come from.

Checkpoints hold them as JSON, and seeds are derived from their digits.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

from wavy.checks import check_whole


def store_whole(options: Any, name: str, least: int) -> None:
    """Store a whole number of a frozen dataclass as int.

    Raises:
        ValueError: it is no whole number, or smaller than ``least``.
    """
    value = getattr(options, name)
    check_whole(name, value, least)
    object.__setattr__(options, name, int(value))


def store_number(options: Any, name: str, *, zero: bool) -> None:
    """Store a finite number > 0 of a frozen dataclass as float; with ``zero`` it may be 0.

    Raises:
        ValueError: it is no such number.
    """
    value = getattr(options, name)
    if not _is_number(value) or not (0 < value < math.inf or (zero and value == 0)):
        raise ValueError(f"{name}: found {value!r}, allowed a finite number {'>=' if zero else '>'} 0")
    object.__setattr__(options, name, float(value))


def store_shares(options: Any, name: str, number: int) -> None:
    """Store ``number`` shares, each >= 0 and < 1, of a frozen dataclass as a tuple of float.

    Raises:
        ValueError: they are not so many, or no shares.
    """
    value = getattr(options, name)
    good = isinstance(value, tuple | list) and len(value) == number
    if not good or not all(_is_number(share) and 0 <= share < 1 for share in value):
        raise ValueError(f"{name}: found {value!r}, allowed {number} numbers >= 0 and < 1")
    object.__setattr__(options, name, tuple(float(share) for share in value))


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
