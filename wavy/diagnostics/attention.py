"""Measures that need the attention matrix A, (..., N, N), itself."""

from __future__ import annotations

import torch
from torch import Tensor


def spectral_gap(attention: Tensor) -> Tensor:
    """``1 - |a_2|``, a_2 the eigenvalue of A second in modulus: :eq:`eq-gap`.

    Under diffusion with frozen A and 0 < tau <= 1, differences fade in the long run at
    least as fast as ``1 - tau gap`` a layer, exactly so if a_2 is real and positive.

    The values of a spectral gap that we know from the paper come to us without a
    definition; this one is our choice.

    Args:
        attention: row stochastic A, (..., N, N), N >= 2.

    Returns:
        (...), in [0, 1].

    Raises:
        ValueError: not square, or fewer than two tokens.
    """
    _check_square(attention, 2)
    # Rows sum to 1, so taking the mean row off each row removes the eigenvalue 1 and no
    # other. (It also spares the eigenvalue solver exactly uniform attention, on which
    # it may fail to converge.)
    rest = attention - attention.mean(dim=-2, keepdim=True)
    return 1 - torch.linalg.eigvals(rest).abs().amax(dim=-1)


def attention_energy(x: Tensor, x_next: Tensor, attention: Tensor, tau: float) -> Tensor:
    """The energy that the published code prints for its models, potential plus kinetic.

    ``sum_jk a_jk |x_j - x_k|^2 + sum_j |(x_j - x'_j) / tau|^2``

    It is not the conserved one, which is :func:`wavy.dynamics.shadow_energy`.

    Args:
        x: state, (..., N, d).
        x_next: the state one layer on, same shape.
        attention: A, (..., N, N).
        tau: step size.

    Returns:
        (...), >= 0.

    Raises:
        ValueError: A does not fit the state.

    Source: published code of Wavy Transformer.
    """
    _check_square(attention, 1)
    if attention.shape[-1] != x.shape[-2]:
        raise ValueError(f"attention: found {attention.shape[-1]} tokens, allowed those of x, {x.shape[-2]}")
    centred = x - x.mean(dim=-2, keepdim=True)
    square = (centred * centred).sum(dim=-1)
    degrees = attention.sum(dim=-1) + attention.sum(dim=-2)
    cross = (centred * (attention @ centred)).sum(dim=(-2, -1))
    potential = (degrees * square).sum(dim=-1) - 2 * cross
    return potential + (((x - x_next) / tau) ** 2).sum(dim=(-2, -1))


def _check_square(attention: Tensor, least: int) -> None:
    shape = tuple(attention.shape)
    if len(shape) < 2 or shape[-1] != shape[-2] or shape[-1] < least:
        raise ValueError(f"attention: found shape {shape}, allowed (..., N, N) with N >= {least}")
