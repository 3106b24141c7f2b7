"""Sums that need all the digits of single precision, also within autocast."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor


def at_least_single(x: Tensor) -> torch.dtype:
    """The type of ``x``, or single precision where that is more."""
    return torch.promote_types(x.dtype, torch.float32)


def no_autocast(x: Tensor) -> AbstractContextManager:
    """A context in which products keep their types; costs nothing where autocast is off."""
    device = x.device.type
    return torch.autocast(device, enabled=False) if torch.is_autocast_enabled(device) else nullcontext()
