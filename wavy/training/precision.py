"""What a run's precision means for its model and for the training loop."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn


def mixed_precision(precision: str) -> str:
    """What the training loop calls a run's precision."""
    return precision if precision in ("bf16", "fp16") else "no"


def seeded(build: Callable[[], nn.Module], seed: int, precision: str) -> nn.Module:
    """A new model in a run's precision, with weights that follow from the seed alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return build().to(torch.float64 if precision == "float64" else torch.float32)
