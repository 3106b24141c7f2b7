"""Checks of arguments, each an error of one line: what was found and what is allowed."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral


def check_choice(name: str, value: object, allowed: Iterable[str]) -> None:
    """Check that ``value`` is one of a few names.

    Args:
        name: of the argument, for the message.
        value: what was given.
        allowed: the names.

    Raises:
        ValueError: ``value`` is none of them.
    """
    allowed = tuple(allowed)
    if value not in allowed:
        raise ValueError(f"{name}: found {value!r}, allowed {', '.join(allowed)}")


def check_divisor(name: str, value: object, whole_name: str, whole: int) -> None:
    """Check that ``value`` heads, patches or the like share ``whole`` evenly.

    Args:
        name: of the argument, for the message.
        value: what was given.
        whole_name: name of what it must divide.
        whole: what it must divide.

    Raises:
        ValueError: ``value`` is not a whole number >= 1, or does not divide ``whole``.
    """
    check_whole(name, value)
    if whole % value:
        raise ValueError(f"{name}: found {value}, allowed a divisor of {whole_name} = {whole}")


def check_whole(name: str, value: object, least: int = 1) -> None:
    """Check that ``value`` is a whole number that is large enough, such as a number of channels.

    Args:
        name: of the argument, for the message.
        value: what was given.
        least: the smallest that is allowed.

    Raises:
        ValueError: ``value`` is not a whole number >= ``least``.
    """
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name}: found {value!r}, allowed a whole number >= {least}")
