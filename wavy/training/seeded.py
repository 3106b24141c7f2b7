"""Random numbers that depend on a key alone, for code that draws from the global generators."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator, Sequence

import numpy as np
import torch


def seeds(key: Sequence[int], count: int) -> list[int]:
    """Seeds of 32 bits that depend on a key alone; those of two keys are unrelated.

    Args:
        key: Whole numbers >= 0.
        count: How many.
    """
    # numpy reads a short key as if zeros followed; its length keeps (1,) and (1, 0) apart.
    return np.random.SeedSequence([len(key), *key]).generate_state(count).tolist()


@contextlib.contextmanager
def seeded(*key: int) -> Iterator[None]:
    """Let the generators of Python, numpy and torch (on the CPU) start from ``key``; afterwards they are as before.

    Those of GPUs are left alone.

    Args:
        key: See :func:`seeds`.
    """
    first, second, third = seeds(key, 3)
    before = random.getstate(), np.random.get_state(), torch.default_generator.get_state()
    random.seed(first)
    np.random.seed(second)
    torch.default_generator.manual_seed(third)
    try:
        yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])
        torch.default_generator.set_state(before[2])
