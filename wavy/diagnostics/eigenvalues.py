"""Eigenvalues of attention matrices, (..., N, N)."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor


def values_without_constant(attention: Tensor) -> Tensor:
    """The eigenvalues of A, with a 0 in place of the 1 of the constant mode.

    Args:
        attention: row stochastic A, (..., N, N), N >= 2.

    Returns:
        (..., N), complex; no gradient passes through them.

    Raises:
        ValueError: not square, or fewer than two tokens.
    """
    check_square(attention, 2)
    if torch.equal(attention, attention.tril()):
        # Causal: the eigenvalues are the diagonal, the 1 that of the first token. A solver finds them less well, since
        # the modes are nearly parallel.
        values = attention.detach().diagonal(dim1=-2, dim2=-1).clone()
        values[..., 0] = 0
        return values.to(attention.dtype.to_complex())
    # Rows sum to 1, so taking the mean row off each row removes the eigenvalue 1 and no other.
    rest = attention - attention.mean(dim=-2, keepdim=True)
    # numpy's solver, since torch's may fail to converge on collapsed attention, where groups of tokens share a row.
    values = np.linalg.eigvals(rest.detach().cpu().numpy())
    return torch.as_tensor(values, dtype=attention.dtype.to_complex(), device=attention.device)


def check_square(attention: Tensor, least: int) -> None:
    """Check that matrices are square and have at least so many rows.

    Raises:
        ValueError: they are not, or have fewer.
    """
    shape = tuple(attention.shape)
    if len(shape) < 2 or shape[-1] != shape[-2] or shape[-1] < least:
        raise ValueError(f"attention: found shape {shape}, allowed (..., N, N) with N >= {least}")
