"""Several ways to one data set, tried in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from wavy.data.sources import DataUnavailable

T = TypeVar("T")


def first_available(what: str, attempts: Iterable[Callable[[], T]]) -> T:
    """Return what the first attempt gives that does not raise ``DataUnavailable``.

    Args:
        what: Name of the data, for the message.
        attempts: Called in their order, without arguments.

    Raises:
        DataUnavailable: All attempts failed; the message holds the reasons of all of them.
    """
    reasons = []
    for attempt in attempts:
        try:
            return attempt()
        except DataUnavailable as error:
            reasons.append(str(error))
    raise DataUnavailable(f"{what}: {' '.join(reasons)}")
