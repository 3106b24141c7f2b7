"""What a user asks of every training through the environment, where it changes no result.

``WAVY_LOG_DIR``, a folder: each run writes a log for TensorBoard into a folder of its own there.
``WAVY_MICRO_BATCH_SIZE``: so many examples, at most, pass a model at once; the gradients of a step's micro-batches are
added up.
"""

from __future__ import annotations

import os
from typing import Any

from pydantic import BaseModel

from wavy.data.cache import folder_from_env
from wavy.results import run_hash
from wavy.training.loop import Setup

LOGS, MICRO_BATCH = "WAVY_LOG_DIR", "WAVY_MICRO_BATCH_SIZE"


def requested_setup(run: BaseModel, device: str, **options: Any) -> Setup:
    """Where and how a run is trained, with what the environment asks for.

    Args:
        run: its parameters.
        device: where to train.
        options: of :class:`wavy.training.loop.options.Setup`.

    Raises:
        ValueError: one of the variables has a value that is not allowed.
    """
    logs = folder_from_env(LOGS)
    return Setup(
        device=device,
        log_dir=logs and logs / f"{run.experiment}-{run_hash(run)}",
        micro_batch_size=micro_batch_size(),
        **options,
    )


def micro_batch_size() -> int | None:
    """Examples that pass a model at once, at most, in training and in measuring; ``None`` where nothing is asked for.

    Raises:
        ValueError: the variable is no whole number from 1 on.
    """
    value = os.environ.get(MICRO_BATCH, "")
    if value and not (value.isdecimal() and int(value)):
        raise ValueError(f"the environment variable {MICRO_BATCH}: found {value!r}, allowed a whole number >= 1")
    return int(value) if value else None
