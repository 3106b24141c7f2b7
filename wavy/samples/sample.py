"""What a sample of inputs is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sample:
    """One batch of inputs.

    Args:
        inputs: what to call the model with.
        description: what they are, in words.
        left_out: files that could not be read, in words.
    """

    inputs: tuple[object, ...]
    description: str
    left_out: tuple[str, ...] = ()
