"""Measures of each token x_i of a state X, (..., N, d): which of them differ from the others, and how much?

The measures of a whole state, :mod:`wavy.diagnostics.state`, are means or sums of these.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def token_deviations(x: Tensor) -> Tensor:
    """Squared distance of each token from the mean token: :eq:`eq-token-deviation`.

    ``|x_i - mean(x)|^2``; the Dirichlet energy is twice their mean.

    Args:
        x: (..., N, d).

    Returns:
        (..., N), >= 0, in squared units of x.

    Raises:
        ValueError: fewer than two axes, or no token.
    """
    x = checked_state(x, 1)
    # Centred before squaring: the difference of two squares would lose all digits.
    return ((x - x.mean(dim=-2, keepdim=True)) ** 2).sum(dim=-1)


def token_cosines(x: Tensor) -> Tensor:
    """Mean cosine of each token with all others: :eq:`eq-token-cosine`.

    With ``u_i = x_i / |x_i|`` it is ``u_i . sum_{j != i} u_j / (N - 1)``; the mean over
    the tokens is the mean cosine of the state.

    Args:
        x: (..., N, d), N >= 2; a token of norm 0 has u_i = 0.

    Returns:
        (..., N), in [-1, 1].

    Raises:
        ValueError: fewer than two axes, or fewer than two tokens.
    """
    unit = unit_tokens(checked_state(x, 2))
    others = unit.sum(dim=-2, keepdim=True) - unit
    return (unit * others).sum(dim=-1) / (x.shape[-2] - 1)


def unit_tokens(x: Tensor) -> Tensor:
    """The tokens divided by their norms, (..., N, d); a token of norm 0 stays 0."""
    tiny = torch.finfo(x.dtype).tiny
    # The largest entry of each token becomes 1: squares of very small ones underflow.
    largest = x.abs().amax(dim=-1, keepdim=True).clamp(min=tiny)
    return F.normalize(x / largest, dim=-1, eps=tiny)


def checked_state(x: Tensor, least: int) -> Tensor:
    """The state, in single precision at least: half precision overflows in squares and has no SVD.

    Raises:
        ValueError: fewer than two axes, or fewer than ``least`` tokens.
    """
    if x.dim() < 2 or x.shape[-2] < least:
        raise ValueError(f"x: found shape {tuple(x.shape)}, allowed (..., N, d) with N >= {least}")
    return x.to(torch.promote_types(x.dtype, torch.float32))
