"""The learning rate as a function of the step, so that there is no schedule to save."""

from __future__ import annotations

import math

#: Name -> factor of the learning rate after warm-up, for the share of it that has passed, 0 <= share < 1.
SCHEDULES = {
    "constant": lambda share: 1.0,
    "linear": lambda share: 1.0 - share,
    "cosine": lambda share: (1.0 + math.cos(math.pi * share)) / 2,
}


def factor(step: int, steps: int, warmup: int, schedule: str) -> float:
    """The factor of the learning rate in a step.

    It rises linearly from 0 at step 0 to 1 at step ``warmup``, then falls as the schedule says, to 0 at step ``steps``
    (which is not done any more).

    Args:
        step: counted from 0.
        steps: of the whole run.
        warmup: steps of the rise.
        schedule: a key of :data:`SCHEDULES`.
    """
    if step < warmup:
        return step / warmup
    return SCHEDULES[schedule]((step - warmup) / (steps - warmup))
