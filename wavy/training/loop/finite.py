"""Numbers that are not finite end a run before they reach the weights."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import nn

if TYPE_CHECKING:
    from accelerate import Accelerator


class NonFiniteFound(ArithmeticError):
    """What was found, in words; raised within a step, in all processes alike."""


class NonFinite(ArithmeticError):
    """A run has ended because loss, gradient or weights are not finite.

    Attributes:
        step: the step, counted from 1.
        checkpoint: the last good checkpoint, or ``None``.
    """

    def __init__(self, step: int, found: str, checkpoint: Path | None) -> None:
        good = f"the last good checkpoint is {checkpoint}" if checkpoint else "there is no checkpoint"
        super().__init__(f"step {step}: found {found}, allowed finite numbers; {good}")
        self.step, self.checkpoint = step, checkpoint


def check_weights(accelerator: Accelerator, model: nn.Module) -> None:
    """Raise NonFiniteFound where a weight is not finite, in any process."""
    with torch.no_grad():
        bad = sum((~_held_here(parameter).isfinite()).any().float() for parameter in model.parameters())
        if accelerator.reduce(bad).item():
            raise NonFiniteFound("weights that are not finite")


def _held_here(parameter: torch.Tensor) -> torch.Tensor:
    """A parameter, or the part of it that this process holds where FSDP shards it."""
    return parameter.to_local() if hasattr(parameter, "to_local") else parameter
