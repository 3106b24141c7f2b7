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

from wavy.checks import check_width
from wavy.dynamics import mode_factors

#: (N, k) -> (N, k): the product with a symmetric (N, N) matrix, in double precision.
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


def signal_ratio(spectrum: SignalSpectrum, depth: int, tau: float, kind: str, lam: float | None = None) -> float:
    """The signal's size beside the dominant mode after L layers, as a share of what it was: :eq:`eq-signal-ratio`.

    ``R = sqrt(sum_k w_k |z_k|^(2 L)) / |z_1|^L``, where z is the larger of a mode's factors
    (:func:`wavy.dynamics.mode_factors`) at mu = 1 - a. One frozen A; no LayerNorm, dropout or weights.

    Args:
        spectrum: from :func:`signal_spectrum`.
        depth: layers L.
        tau: step size.
        kind: one of :data:`wavy.dynamics.KINDS`.
        lam: lambda, for the kinds that have one.

    Returns:
        R; 1 at depth 0, below 1 where the dominant mode wins.

    Raises:
        ValueError: see :func:`wavy.dynamics.mode_factors`; a depth below 1.
    """
    check_width("depth", depth)
    dominant = mode_factors(1 - spectrum.dominant, tau, kind, lam)[0].abs()
    factors = mode_factors(1 - spectrum.values, tau, kind, lam)[:, 0].abs()
    return (spectrum.weights * (factors / dominant) ** (2 * depth)).sum().sqrt().item()


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
