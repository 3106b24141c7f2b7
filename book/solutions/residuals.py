"""Solutions of the exercises on mixed and light residuals."""

import math

import torch

from wavy.dynamics import light_step, mode_factors


def uniform_attention(tau: float = 0.5, lam: float = 0.5) -> dict[str, float]:
    """The largest |z| of the modes of uniform attention but the constant one."""
    attention = torch.full((6, 6), 1 / 6, dtype=torch.float64)
    laplacian = torch.eye(6, dtype=torch.float64) - attention
    mu = torch.linalg.eigvalsh(laplacian)[1:]  # ascending: the first is 0
    assert torch.allclose(mu, torch.ones_like(mu))
    light = mode_factors(mu, tau, "light", lam).abs()
    mixed = mode_factors(mu, tau, "mix_full", lam).abs()
    assert torch.allclose(light, torch.full_like(light, math.sqrt(lam)))
    assert torch.allclose(mixed, torch.full_like(mixed, math.sqrt(1 - (1 - lam) * tau)))
    assert 1 - tau < light.max() < mixed.max()
    return {
        "diffusion": 1 - tau,
        "light": light.max().item(),
        "mix_full": mixed.max().item(),
    }


def fastest_momentum(step: float = 0.04) -> float:
    """The lambda under which a light wave loses most of a mode, tau mu = step."""
    lams = torch.linspace(0, 1, 10_001, dtype=torch.float64)
    kept = mode_factors(step, 1.0, "light", lams)[:, 0].abs()
    best = lams[kept.argmin()].item()
    assert math.isclose(best, (1 - math.sqrt(step)) ** 2, abs_tol=1e-4)
    assert math.isclose(kept.min().item(), 1 - math.sqrt(step), abs_tol=1e-4)
    assert kept.min() < 1 - step  # less than diffusion keeps
    return best


def stable_ellipse(lam: float = 0.5) -> int:
    """How many of 40,000 complex modes fade under a light wave, by both criteria."""
    real = torch.linspace(-0.5, 3.5, 200, dtype=torch.float64)
    imag = torch.linspace(-1.0, 1.0, 200, dtype=torch.float64)
    step = torch.complex(*torch.meshgrid(real, imag, indexing="ij"))
    b = 1 + lam - step
    inside = (b.real / (1 + lam)) ** 2 + (b.imag / (1 - lam)) ** 2 < 1
    fades = mode_factors(step, 1.0, "light", lam)[..., 0].abs() < 1
    assert torch.equal(inside, fades)
    return int(fades.sum())


def published_mix(tau: float = 0.5, lam: float = 0.3, layers: int = 8) -> float:
    """How far the mix of velocities and mix (+light) are apart after some layers."""
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(6, 6, generator=generator, dtype=torch.float64)
    attention = torch.softmax(scores, dim=-1)
    x = torch.randn(6, 3, generator=generator, dtype=torch.float64)
    velocity = torch.zeros_like(x)
    ours = ours_prev = x
    step = lam * tau**2 + (1 - lam) * tau
    for _ in range(layers):
        force = attention @ x - x
        velocity = lam * (tau * force + velocity) + (1 - lam) * force
        x = x + tau * velocity
        ours, ours_prev = light_step(ours, ours_prev, attention @ ours, step, lam), ours
    apart = (x - ours).abs().max().item()
    assert apart < 1e-12
    return apart
