"""How much of a signal is left beside the dominant mode after L layers, from an operator's spectrum alone.

A node classifier lives on the part of the state that tells classes apart. Each layer multiplies every mode of the
operator by its own factor z; LayerNorm then scales the whole. What counts is therefore not how fast the signal shrinks
but how fast it shrinks *beside* the mode that grows most. Beyond the paper.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from scipy.sparse.linalg import LinearOperator, eigsh
from torch import Tensor

from wavy.checks import check_whole
from wavy.dynamics import mixed_step, mode_factors, monic_roots

#: The product with a symmetric (N, N) matrix in double precision, from (N, k) to (N, k).
Product = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class SignalSpectrum:
    """What a signal sees of an operator: its dominant eigenvalue, and where the signal's energy lies.

    ``dominant`` is the largest eigenvalue of A; ``values`` (K,) are eigenvalues of A, or points that stand for many of
    them, and ``weights`` (K,), which add up to 1, the signal's share in each.
    """

    dominant: float
    values: Tensor
    weights: Tensor


def dominant_mode(product: Product, num_nodes: int) -> tuple[float, Tensor]:
    """The largest eigenvalue of a symmetric operator, and its unit eigenvector (N,)."""

    def apply(vector: np.ndarray) -> np.ndarray:
        return product(torch.from_numpy(vector.reshape(-1, 1).astype(np.float64))).numpy()

    operator = LinearOperator((num_nodes, num_nodes), matvec=apply, dtype=np.float64)
    value, vector = eigsh(operator, k=1, which="LA", v0=np.ones(num_nodes))
    return float(value[0]), torch.from_numpy(vector[:, 0].copy())


def signal_spectrum(product: Product, signal: Tensor, mode: tuple[float, Tensor], steps: int = 60) -> SignalSpectrum:
    """The spectral measure of a signal beside the dominant mode, by Lanczos' method.

    The points and weights integrate every polynomial of degree below ``2 steps`` against the signal's exact spectral
    measure (Gauss quadrature), which is far more than powers of a few dozen layers need.

    Args:
        product: X -> S X with S symmetric, (N, N), and the same eigenvalues as the operator A.
        signal: (N, C), what shall survive, for instance the one-hot classes; in the basis of S.
        mode: the dominant eigenvalue and unit eigenvector (N,) of S; the signal's part along it is left out.
        steps: Lanczos steps, one product each.

    Returns:
        A :class:`SignalSpectrum`, K = steps times C.

    Raises:
        ValueError: a signal of another shape, or with nothing beside the dominant mode.

    Source: Golub & Meurant, Matrices, Moments and Quadrature (2010).
    """
    value, vector = mode
    if signal.dim() != 2 or signal.shape[0] != vector.shape[0]:
        raise ValueError(f"signal: found shape {tuple(signal.shape)}, allowed ({vector.shape[0]}, C)")
    signal = signal.double()
    beside = signal - vector.unsqueeze(1) * (vector @ signal)
    energy = beside.square().sum(dim=0)
    if not energy.sum() > 1e-20 * signal.square().sum():
        raise ValueError("signal: found nothing beside the dominant mode, allowed a signal with other modes")
    values, weights = _lanczos(product, beside, min(steps, signal.shape[0]))
    return SignalSpectrum(value, values.flatten(), (weights * energy / energy.sum()).flatten())


def slowest_spectrum(dominant: float) -> SignalSpectrum:
    """A signal that lies in the slowest mode that a graph can have beside the dominant one, a = 1.

    Its signal ratio needs neither classes nor eigenvalues other than the dominant one: a baseline for those that do.
    """
    one = torch.ones(1, dtype=torch.float64)
    return SignalSpectrum(dominant, one, one)


def signal_ratio(
    spectrum: SignalSpectrum, depth: int, tau: float, kind: str, lam: float | None = None, layer_norm: bool = True
) -> float:
    """The signal's size beside the dominant mode after L layers, as a share of what it was: :eq:`eq-signal-ratio`.

    ``R = sqrt(sum_k w_k |z_k|^(2 L)) / |z_1|^L``, where z is the larger of a mode's factors at mu = 1 - a
    (:func:`wavy.dynamics.mode_factors`). One frozen A; no dropout, no weights.

    LayerNorm after each layer scales the state back to the size it had. A velocity is scaled with it, so full and
    mix_full keep their factors; but light and mix_light compare states of two layers, and with the state back at its
    size the momentum no longer sees the growth: :eq:`eq-normed-momentum`.

    Args:
        spectrum: from :func:`signal_spectrum`.
        depth: layers L.
        tau: step size.
        kind: one of :data:`wavy.dynamics.KINDS`.
        lam: lambda, for the kinds that have one.
        layer_norm: whether each layer ends in LayerNorm.

    Returns:
        R; below 1 where the dominant mode wins.

    Raises:
        ValueError: see :func:`wavy.dynamics.mode_factors`; a depth below 1.
    """
    check_whole("depth", depth)
    dominant = mode_factors(1 - spectrum.dominant, tau, kind, lam)[0].abs()
    factors = mode_factors(1 - spectrum.values, tau, kind, lam)[:, 0].abs()
    if layer_norm and kind in ("light", "mix_light"):
        step = tau if kind == "light" else mixed_step(tau, lam)
        factors, dominant = normed_momentum_factors(1 - spectrum.values, 1 - spectrum.dominant, step, lam), 1
    return (spectrum.weights * (factors / dominant) ** (2 * depth)).sum().sqrt().item()


def normed_momentum_factors(mu: Tensor, dominant_mu: float, step: float, lam: float) -> Tensor:
    """Factors of momentum schemes whose state is scaled back to its size in each layer: :eq:`eq-normed-momentum`.

    ``z^2 - (1 + lambda - h mu) / s z + lambda / s = 0``, with s = 1 - h mu_1 the growth of the dominant mode.

    Args:
        mu: eigenvalues of I - A, (K,).
        dominant_mu: that of the dominant mode, whose own factor is 1.
        step: h, which is tau for a light wave and lambda tau^2 + (1 - lambda) tau for mix_light.
        lam: lambda.

    Returns:
        The larger ``|z|`` of each mode, (K,).
    """
    growth = 1 - step * dominant_mu
    mu = mu.to(torch.complex128)
    return monic_roots((1 + lam - step * mu) / growth, lam / growth + 0 * mu)[:, 0].abs()


def start_ratio(state: Tensor, vector: Tensor) -> float:
    """The size of a state (N, d) beside the dominant mode (N,), divided by its size along that mode."""
    along = (vector @ state.double()).square().sum()
    return ((state.double().square().sum() - along).clamp(min=0) / along).sqrt().item()


def one_hot_signal(labels: Tensor) -> Tensor:
    """The classes (N,) as a signal (N, C)."""
    return F.one_hot(labels).double()


def _lanczos(product: Product, start: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    """Points and weights, each (steps, C), for each column of ``start``; a column of zeros has weight on 0."""
    basis = [F.normalize(start, dim=0)]
    diagonal, beside = [], []
    for _ in range(steps):
        image = product(basis[-1])
        diagonal.append((basis[-1] * image).sum(dim=0))
        # Against all earlier vectors, twice: the plain recurrence loses their orthogonality.
        for _ in range(2):
            for vector in basis:
                image = image - vector * (vector * image).sum(dim=0)
        length = torch.linalg.vector_norm(image, dim=0)
        # A column whose signal has no further modes ends here: zeros decouple the rest.
        length = torch.where(length > 1e-10, length, torch.zeros_like(length))
        beside.append(length)
        basis.append(torch.where(length > 0, image / length.clamp(min=1e-300), torch.zeros_like(image)))
    matrices = torch.diag_embed(torch.stack(diagonal, dim=1))
    if steps > 1:
        off = torch.diag_embed(torch.stack(beside[:-1], dim=1), offset=1)
        matrices = matrices + off + off.transpose(1, 2)
    values, vectors = torch.linalg.eigh(matrices)
    return values.T, vectors[:, 0, :].square().T
