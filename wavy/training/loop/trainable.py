"""Whether a model can be trained as a recipe says."""

from __future__ import annotations

import torch
from torch import nn


def check_trainable(model: nn.Module, precision: str) -> None:
    """Raise ValueError where no parameter is trained, or where double precision is asked for and half as well.

    Args:
        model: to be trained.
        precision: as in :class:`~wavy.training.loop.options.Recipe`.
    """
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if not trained:
        raise ValueError("model: found no parameter that is trained, allowed at least one")
    if precision != "no" and any(parameter.dtype == torch.float64 for parameter in trained):
        raise ValueError(f"precision: found {precision!r} for a model in float64, allowed no")
