"""An exception as one line, for whoever called a command."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError


def one_line(error: Exception) -> str:
    """Return the message of ``error`` without line breaks; pydantic's as "field: message", one after the other."""
    if not isinstance(error, ValidationError):
        return " ".join(str(error).split())
    return "; ".join(": ".join([*filter(None, [_place(item)]), reason(item)]) for item in error.errors())


def reason(item: dict[str, Any]) -> str:
    """Return what one entry of ``ValidationError.errors()`` says, in the words of the validator itself."""
    return " ".join(item["msg"].removeprefix("Value error, ").split())


def _place(item: dict[str, Any]) -> str:
    return ".".join(map(str, item["loc"]))
