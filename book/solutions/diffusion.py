"""Solutions of the chapter "Attention is diffusion"."""

from __future__ import annotations

import torch

from wavy.diagnostics import stationary_distribution
from wavy.dynamics import diffusion_step


def two_tokens(p: float = 0.3, q: float = 0.1, tau: float = 0.5) -> None:
    """Eigenvalues, weights and limit of two tokens, computed and by hand."""
    a = torch.tensor([[1 - p, p], [q, 1 - q]], dtype=torch.float64)
    values = torch.linalg.eigvals(a).real.sort().values
    assert torch.allclose(values, torch.tensor([1 - p - q, 1.0]).double())
    pi = torch.tensor([q, p], dtype=torch.float64) / (p + q)
    assert torch.allclose(stationary_distribution(a), pi)

    x = torch.tensor([[1.0], [0.0]], dtype=torch.float64)
    gap = []
    for _ in range(200):
        gap.append((x[0] - x[1]).item())
        x = diffusion_step(x, a @ x, tau)
    assert abs(gap[1] / gap[0] - (1 - tau * (p + q))) < 1e-12
    assert torch.allclose(x, pi[0].expand(2, 1))


def map_on_differences(tokens: int = 6) -> None:
    """The eigenvalues of A, from the matrix that maps differences to differences."""
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(tokens, tokens, generator=generator, dtype=torch.float64)
    a, u = torch.softmax(scores, dim=-1), scores[0]
    b = a[1:, 1:] - a[:1, 1:]
    assert torch.allclose((a @ u)[1:] - (a @ u)[0], b @ (u[1:] - u[0]))
    # Equal characteristic polynomials, but for the factor (z - 1).
    for z in (-1.0, 0.3, 2.0):
        whole = torch.linalg.det(z * torch.eye(tokens) - a)
        rest = torch.linalg.det(z * torch.eye(tokens - 1) - b)
        assert torch.allclose(whole, (z - 1) * rest)


def values_that_sharpen(tau: float = 0.5) -> None:
    """For which W_V = w I a difference outlives the constant mode."""
    w = torch.linspace(-6, 6, 1201, dtype=torch.float64)
    for a in (0.1, 0.5, 0.9):
        difference = (1 - tau + tau * a * w).abs()
        constant = (1 - tau + tau * w).abs()
        lower = -2 * (1 - tau) / (tau * (1 + a))
        inside = (lower < w) & (w < 0)
        clear = (w.abs() > 1e-6) & ((w - lower).abs() > 1e-6)
        assert torch.equal((difference > constant)[clear], inside[clear])


def moving_attention(tokens: int = 8, layers: int = 30, tau: float = 0.5) -> None:
    """Tokens become equal although A is another one in each layer."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(tokens, 4, generator=generator, dtype=torch.float64)
    start, bound = _spread(x), 1.0
    for _ in range(layers):
        query, key = torch.randn(2, 4, 4, generator=generator).double()
        a = torch.softmax((x @ query) @ (x @ key).T, dim=-1)
        overlap = torch.minimum(a[:, None], a[None]).sum(dim=-1).min()
        bound *= (1 - tau * overlap).item()
        x = diffusion_step(x, a @ x, tau)
        assert (_spread(x) <= bound * start + 1e-12).all()
    assert (_spread(x) < 1e-6 * start).all()


def power_law(tokens: int = 6, channels: int = 5) -> None:
    """In a growing residual stream a mode fades as a power of the depth."""
    generator = torch.Generator().manual_seed(1)
    kernel = torch.rand(tokens, tokens, generator=generator, dtype=torch.float64)
    kernel = kernel + kernel.T
    a = kernel / kernel.sum(dim=-1, keepdim=True)
    slowest = torch.linalg.eigvals(a).real.sort().values[-2]
    x = 1 + torch.randn(tokens, channels, generator=generator, dtype=torch.float64)
    found = {}
    for layer in range(4001):
        found[layer] = (x - x.mean(dim=0)).norm() / x.norm()
        x = x + a @ torch.nn.functional.layer_norm(x, (channels,))
    exponent = torch.log2(found[2000] / found[4000])
    assert abs(exponent - (1 - slowest)) < 0.02


def _spread(x: torch.Tensor) -> torch.Tensor:
    """Largest minus smallest entry of each channel."""
    return x.amax(dim=0) - x.amin(dim=0)
