"""The update rules of the book as pure functions on tensors, and their spectrum.

Shapes: a state ``x`` is (..., N, d), N tokens (or nodes) of d channels, with any batch axes before them. The force
enters as ``ax``, the product A X of the attention matrix and the state, so attention never has to be an (N, N) matrix.
The step ``tau`` and the mixing coefficient ``lam`` (lambda) have no unit; one layer is one step.
"""

from __future__ import annotations

import torch
from torch import Tensor

from wavy.checks import check_choice

#: The residual kinds, in the order in which the book introduces them.
KINDS = ("diffusion", "full", "light", "mix_full", "mix_light")

#: The kinds that have a mixing coefficient lambda.
MIXED_KINDS = ("light", "mix_full", "mix_light")


def diffusion_step(x: Tensor, ax: Tensor, tau: float | Tensor) -> Tensor:
    """One explicit Euler step of graph diffusion, equation (D): :eq:`eq-diffusion`.

    ``dX/dt = (A - I) X`` becomes ``X' = tau A X + (1 - tau) X``.

    Args:
        x: state X, (..., N, d).
        ax: A X, same shape.
        tau: step size.

    Returns:
        The next state, (..., N, d).

    Source: Wavy Transformer.
    """
    return tau * ax + (1 - tau) * x


def wave_step(
    x: Tensor,
    y: Tensor,
    ax: Tensor,
    tau: float | Tensor,
) -> tuple[Tensor, Tensor]:
    """One symplectic Euler step of the wave equation, equation (W): :eq:`eq-wave`.

    ``dX/dt = Y, dY/dt = (A - I) X`` becomes
    ``Y' = Y + tau (A X - X), X' = X + tau Y'``.

    Args:
        x: state X, (..., N, d).
        y: velocity Y, same shape; zero before the first layer.
        ax: A X, same shape.
        tau: step size.

    Returns:
        The next state and the next velocity, each (..., N, d).

    Source: Wavy Transformer.
    """
    y = y + tau * (ax - x)
    return x + tau * y, y


def light_step(
    x: Tensor,
    x_prev: Tensor,
    ax: Tensor,
    tau: float | Tensor,
    lam: float | Tensor,
) -> Tensor:
    """One light wave step, diffusion with heavy-ball momentum: :eq:`eq-light`.

    ``X' = tau A X + (1 - tau) X + lambda (X - X_prev)``

    Args:
        x: state X, (..., N, d).
        x_prev: the state one step earlier, same shape; ``x`` itself in the first layer.
        ax: A X, same shape.
        tau: step size.
        lam: momentum lambda, a number or one value a channel, (d,).

    Returns:
        The next state, (..., N, d).

    Source: Wavy Transformer.
    """
    return diffusion_step(x, ax, tau) + lam * (x - x_prev)


def mix(x_wave: Tensor, x_diffusion: Tensor, lam: float | Tensor) -> Tensor:
    """The mixed residual: :eq:`eq-mix`.

    ``X' = lambda X'_wave + (1 - lambda) X'_diffusion``

    Args:
        x_wave: next state of the wave, (..., N, d).
        x_diffusion: next state of diffusion, same shape.
        lam: lambda in [0, 1], a number or one value a channel, (d,).

    Returns:
        The mixed state, (..., N, d).

    Source: Wavy Transformer.
    """
    return lam * x_wave + (1 - lam) * x_diffusion


def shadow_energy(
    x: Tensor,
    y: Tensor,
    ax: Tensor,
    tau: float | Tensor,
    weight: Tensor | None = None,
) -> Tensor:
    """Energy that symplectic Euler conserves, A frozen: :eq:`eq-shadow-energy`.

    ``H = 1/2 |Y|^2 + 1/2 <X, L X> - tau/2 <Y, L X>,  L = I - A``

    It is conserved exactly when A is symmetric; when A = D^-1 K with K symmetric
    (detailed balance), in the inner product weighted by pi = D / tr D; for a general A
    it is not. It is never negative if tau^2 mu < 4 for all modes. Beyond the paper.

    Args:
        x: state X, (..., N, d).
        y: velocity Y, same shape.
        ax: A X, same shape.
        tau: step size.
        weight: pi, (N,), the token weights of the inner product; ``None`` for all 1.

    Returns:
        One value a batch entry, (...).

    Source: a standard result on symplectic Euler (Hairer, Lubich & Wanner, 2006).
    """
    lx = x - ax
    density = 0.5 * (y * y + x * lx - tau * y * lx)
    if weight is not None:
        density = density * weight.unsqueeze(-1)
    return density.sum(dim=(-2, -1))


def mode_factors(
    mu: Tensor | float,
    tau: float | Tensor,
    kind: str,
    lam: float | Tensor | None = None,
) -> Tensor:
    """The factors z by which a mode of L = I - A changes in one layer: :eq:`eq-roots`.

    For the full wave that is :eq:`eq-wave-roots`.

    ========= ====================================================================
    kind      z
    ========= ====================================================================
    diffusion z = 1 - tau mu
    full      z^2 - (2 - tau^2 mu) z + 1 = 0
    light     z^2 - (1 + lambda - tau mu) z + lambda = 0
    mix_full  z^2 - (2 - h mu) z + 1 - (1 - lambda) tau mu = 0
    mix_light z^2 - (1 + lambda - h mu) z + lambda = 0
    ========= ====================================================================

    with the mixed step h = lambda tau^2 + (1 - lambda) tau. Derived in the book.

    Args:
        mu: eigenvalues of L, real or complex, any shape.
        tau: step size; broadcasts with ``mu``.
        kind: one of :data:`KINDS`.
        lam: lambda in [0, 1] for the mixed kinds, broadcasts with ``mu``; ``None`` for
            diffusion and full.

    Returns:
        complex128, (..., number of roots): one root for diffusion, else two, the larger
        modulus first (of a conjugate pair, the one with positive imaginary part).

    Raises:
        ValueError: unknown kind, or ``lam`` missing, superfluous or outside [0, 1].
    """
    check_choice("kind", kind, KINDS)
    mu = torch.as_tensor(mu, dtype=torch.complex128)
    tau = torch.as_tensor(tau, dtype=torch.float64)
    if kind == "diffusion":
        _check_no_lam(kind, lam)
        return (1 - tau * mu).unsqueeze(-1)
    if kind == "full":
        _check_no_lam(kind, lam)
        return monic_roots(2 - tau**2 * mu, torch.ones_like(mu))
    lam = _checked_lam(kind, lam)
    step = mixed_step(tau, lam)
    if kind == "light":
        return monic_roots(1 + lam - tau * mu, lam + 0 * mu)
    if kind == "mix_light":
        return monic_roots(1 + lam - step * mu, lam + 0 * mu)
    return monic_roots(2 - step * mu, 1 - (1 - lam) * tau * mu)


def mixed_step(tau: float | Tensor, lam: float | Tensor) -> float | Tensor:
    """The step h = lambda tau^2 + (1 - lambda) tau of the two mixes."""
    return lam * tau**2 + (1 - lam) * tau


def monic_roots(total: Tensor, product: Tensor) -> Tensor:
    """Both roots of z^2 - total z + product (complex, any shape), (..., 2), the larger modulus first."""
    total, product = torch.broadcast_tensors(total, product)
    root = torch.sqrt(total * total - 4 * product)
    # The sign that adds to |total| avoids cancellation; the other root then follows from the product.
    root = torch.where((total.conj() * root).real < 0, -root, root)
    large = (total + root) / 2
    small = torch.where(large == 0, torch.zeros_like(large), product / torch.where(large == 0, 1, large))
    pair = torch.stack([large, small], dim=-1)
    tie = (pair[..., 0].abs() - pair[..., 1].abs()).abs() <= 1e-12 * pair[..., 0].abs()
    swap = torch.where(tie, pair[..., 1].imag > pair[..., 0].imag, pair[..., 1].abs() > pair[..., 0].abs())
    return torch.where(swap.unsqueeze(-1), pair.flip(-1), pair)


def _check_no_lam(kind: str, lam: object) -> None:
    if lam is not None:
        raise ValueError(f"lam: found {lam!r}, but kind {kind!r} has no lambda; allowed None")


def _checked_lam(kind: str, lam: float | Tensor | None) -> Tensor:
    if lam is None:
        raise ValueError(f"lam: found None, but kind {kind!r} needs lambda; allowed a number or tensor in [0, 1]")
    lam = torch.as_tensor(lam, dtype=torch.float64)
    if not bool(((lam >= 0) & (lam <= 1)).all()):
        raise ValueError(f"lam: found {lam.min().item():g} to {lam.max().item():g}, allowed [0, 1]")
    return lam
