"""Attention matrices and states for the tests, in float64."""

from __future__ import annotations

import torch
from hypothesis import strategies as st
from torch import Tensor

seeds = st.integers(0, 2**31 - 1)
taus = st.floats(0.05, 1.0)
lambdas = st.floats(0.0, 1.0)


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def normal(seed: int, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=generator(seed), dtype=torch.float64)


def row_stochastic(seed: int, n: int, scale: float = 1.0) -> Tensor:
    """Attention with queries and keys of their own: no symmetry at all."""
    return torch.softmax(scale * normal(seed, n, n), dim=-1)


def symmetric(seed: int, n: int) -> Tensor:
    """A symmetric A with eigenvalues in (-1, 1], the largest 1 (Sinkhorn on a symmetric kernel)."""
    kernel = torch.exp(_symmetrised(normal(seed, n, n)))
    for _ in range(500):
        scale = kernel.sum(dim=-1).rsqrt()
        kernel = scale[:, None] * kernel * scale
    return kernel


def reversible(seed: int, n: int) -> tuple[Tensor, Tensor]:
    """A = D^-1 K with K symmetric (queries equal keys), and its weights pi = D / tr D."""
    kernel = torch.exp(_symmetrised(normal(seed, n, n)))
    degrees = kernel.sum(dim=-1)
    return kernel / degrees[:, None], degrees / degrees.sum()


def _symmetrised(a: Tensor) -> Tensor:
    return (a + a.T) / 2
