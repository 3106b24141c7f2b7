"""Random numbers that depend on what they are drawn for, not on who draws them."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from contextlib import contextmanager
from operator import index

import numpy as np
import torch


def derived_seed(*words: int) -> int:
    """A seed below 2^32 from whole numbers; other numbers, or another order of them, give an unrelated seed.

    Whole numbers of other libraries, for instance numpy's, count as Python's.
    """
    # A hash of the digits: ten times as fast as numpy's SeedSequence, and it is needed for each example.
    return int.from_bytes(hashlib.blake2b(repr(tuple(map(index, words))).encode(), digest_size=4).digest())


def seed_everything(seed: int) -> None:
    """Seed the generators of Python, numpy and torch, on all devices."""
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def seed_data(seed: int) -> None:
    """Seed the generators that data sets draw from: Python's, numpy's and torch's on the CPU."""
    random.seed(seed)
    np.random.seed(seed)
    torch.default_generator.manual_seed(seed)


@contextmanager
def kept_generators() -> Iterator[None]:
    """Whatever is drawn or seeded within, the generators of data go on afterwards as if it had not been."""
    states = random.getstate(), np.random.get_state(), torch.default_generator.get_state()
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])
        torch.default_generator.set_state(states[2])
