"""Measures that need the attention matrix A, (..., N, N), itself."""

from __future__ import annotations

import torch
from torch import Tensor

from wavy.diagnostics.eigenvalues import check_square, values_without_constant
from wavy.dynamics import mode_factors


def spectral_gap(attention: Tensor) -> Tensor:
    """``1 - |a_2|``, a_2 the eigenvalue of A second in modulus: :eq:`eq-gap`.

    Under diffusion with frozen A and 0 < tau <= 1, differences fade in the long run at
    least as fast as ``1 - tau gap`` a layer, exactly so if a_2 is real and positive.

    The values of a spectral gap that we know from the paper come to us without a
    definition; this one is our choice. No gradient passes through it.

    Args:
        attention: row stochastic A, (..., N, N), N >= 2.

    Returns:
        (...), in [0, 1].

    Raises:
        ValueError: not square, or fewer than two tokens.
    """
    return 1 - values_without_constant(attention).abs().amax(dim=-1)


def wave_growth(attention: Tensor, tau: float) -> Tensor:
    """The largest factor of a full-wave mode in one layer, A frozen: :eq:`eq-growth`.

    ``max |z|`` over the roots of ``z^2 - (2 - tau^2 mu) z + 1 = 0``, for all
    eigenvalues mu of I - A but that of the constant mode (mu = 0, z = 1 twice).
    The roots of a mode have the product 1, so the growth is never below 1. It is 1
    if every mu is real and tau^2 mu <= 4, as under detailed balance with tau <= 1.
    No gradient passes through it. Beyond the paper.

    Args:
        attention: row stochastic A, (..., N, N), N >= 2.
        tau: step size.

    Returns:
        A factor a layer, (...), >= 1; float64.

    Raises:
        ValueError: not square, or fewer than two tokens.
    """
    mu = 1 - values_without_constant(attention)
    return mode_factors(mu, tau, "full").abs().amax(dim=(-2, -1))


def reversibility_defect(attention: Tensor) -> Tensor:
    """Distance of A from detailed balance: :eq:`eq-reversibility`.

    ``|S - S^T|_2 / 2``, the spectral norm, with ``S = P^1/2 A P^-1/2``,
    P = diag(pi) and ``pi^T A = pi^T``. It is 0 exactly if pi_i a_ij = pi_j a_ji for
    all i and j, and no eigenvalue of I - A has a larger imaginary part. Beyond the
    paper.

    Args:
        attention: row stochastic A, (..., N, N), in which every token is reached
            from every other, as after a softmax.

    Returns:
        (...), in [0, 1].

    Raises:
        ValueError: not square, or pi is not unique or not positive.
    """
    check_square(attention, 1)
    root = stationary_distribution(attention).sqrt()
    balanced = root.unsqueeze(-1) * attention / root.unsqueeze(-2)
    return torch.linalg.matrix_norm(balanced - balanced.mT, ord=2) / 2


def stationary_distribution(attention: Tensor) -> Tensor:
    """The weights pi with ``pi^T A = pi^T`` and sum 1: :eq:`eq-detailed-balance`.

    They weigh the tokens in the limit of diffusion, and in the inner product in which A
    is self-adjoint if it has detailed balance. Tokens are taken out one by one, each
    after its part in the paths between the others was added to these. Nothing is
    subtracted, so the smallest weights are as exact as the largest.

    Args:
        attention: row stochastic A, (..., N, N), in which every token is reached from
            every other, as after a softmax.

    Returns:
        pi, (..., N), positive.

    Raises:
        ValueError: not square, or pi is not unique or not positive.

    Source: Grassmann, Taksar & Heyman (1985).
    """
    check_square(attention, 1)
    a = attention.clone()
    for token in range(a.shape[-1] - 1, 0, -1):
        a[..., :token, token] /= a[..., token, :token].sum(dim=-1, keepdim=True)
        a[..., :token, :token] += a[..., :token, token, None] * a[..., token, None, :token]
    pi = torch.ones_like(a[..., 0])
    for token in range(1, a.shape[-1]):
        pi[..., token] = (pi[..., :token] * a[..., :token, token]).sum(dim=-1)
    pi = pi / pi.sum(dim=-1, keepdim=True)
    if not (pi > 0).all():
        raise ValueError("attention: found no unique positive pi, allowed every token reached from every other")
    return pi


def attention_energy(x: Tensor, x_next: Tensor, attention: Tensor, tau: float) -> Tensor:
    """The energy that the published code prints for its models: :eq:`eq-attention-energy`.

    Potential plus kinetic energy,

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
    check_square(attention, 1)
    if attention.shape[-1] != x.shape[-2]:
        raise ValueError(f"attention: found {attention.shape[-1]} tokens, allowed those of x, {x.shape[-2]}")
    centred = x - x.mean(dim=-2, keepdim=True)
    square = (centred * centred).sum(dim=-1)
    degrees = attention.sum(dim=-1) + attention.sum(dim=-2)
    cross = (centred * (attention @ centred)).sum(dim=(-2, -1))
    potential = (degrees * square).sum(dim=-1) - 2 * cross
    return potential + (((x - x_next) / tau) ** 2).sum(dim=(-2, -1))
