"""Solutions of the exercises on depth in graph models."""

import math

import torch

from wavy.diagnostics.signal import (
    SignalSpectrum,
    dominant_mode,
    normed_momentum_factors,
    signal_ratio,
    signal_spectrum,
)
from wavy.hosts.attention import simple_attention


def layers_until(ratio: float = 0.02, tau: float = 0.2) -> dict[str, int]:
    """Layers until one slow mode, a = 1 beside a_1 = 2, is down to a ratio."""
    one = torch.ones(1, dtype=torch.float64)
    spectrum = SignalSpectrum(2.0, one, one)
    found = {}
    for kind, lam in (("diffusion", None), ("full", None), ("light", 0.5)):
        depth = 1
        while signal_ratio(spectrum, depth, tau, kind, lam) > ratio:
            depth += 1
        found[kind] = depth
    by_hand = math.log(1 / ratio) / math.log(1 + tau)
    assert found["diffusion"] == math.ceil(by_hand)
    assert found["light"] < found["diffusion"]
    return found


def hardly_attends(nodes: int = 400, channels: int = 8) -> float:
    """How far attention with very large weights is from the mean of all nodes."""
    torch.manual_seed(0)
    query, key = 1e3 * torch.randn(2, nodes, 1, channels, dtype=torch.float64)
    identity = torch.eye(nodes, dtype=torch.float64).unsqueeze(1)
    attention = simple_attention(query, key, identity).squeeze(1)
    distance = (attention - 1 / nodes).norm().item()
    assert distance <= 1 / (nodes - math.sqrt(nodes))
    # The bound is not idle: all queries along the first key that stands apart.
    key = torch.zeros(nodes, 1, 1, dtype=torch.float64)
    key[0] = 1
    query = -torch.ones_like(key)
    apart = simple_attention(query, key, identity).squeeze(1)
    assert (apart - 1 / nodes).norm() > 0.9 / nodes
    return distance


def no_slow_modes(tau: float = 0.5, lam: float = 0.5) -> float:
    """What every mode with a >= 0 keeps under a light wave beside a_1 = 2."""
    mu = torch.linspace(0, 1, 101, dtype=torch.float64)
    kept = normed_momentum_factors(mu, -1.0, tau, lam)
    growth = 1 + tau
    assert torch.allclose(kept, torch.full_like(kept, math.sqrt(lam / growth)))
    return kept[0].item()


def mean_operator(tau: float = 0.5, depth: int = 20) -> dict[str, float]:
    """Diffusion and a light wave, lambda = 0.9, on a mean of stochastic matrices."""
    half = torch.full((1,), 0.5, dtype=torch.float64)
    spectrum = SignalSpectrum(1.0, half, torch.ones_like(half))
    found = {
        "diffusion": signal_ratio(spectrum, depth, tau, "diffusion"),
        "light": signal_ratio(spectrum, depth, tau, "light", 0.9),
    }
    assert math.isclose(found["diffusion"], (1 - tau / 2) ** depth)
    assert math.isclose(found["light"], 0.9 ** (depth / 2))
    assert found["light"] > 50 * found["diffusion"]
    return found


def two_points() -> tuple[torch.Tensor, torch.Tensor]:
    """Two Lanczos steps give the moments up to the third."""
    path = torch.diag(torch.full((7,), 0.5, dtype=torch.float64), 1)
    path = path + path.T
    signal = torch.linspace(-1, 2, 8, dtype=torch.float64).square().unsqueeze(1)
    mode = dominant_mode(lambda x: path @ x, 8)
    spectrum = signal_spectrum(lambda x: path @ x, signal, mode, steps=2)
    beside = signal - mode[1].unsqueeze(1) * (mode[1] @ signal)
    image = beside
    for power in range(1, 5):
        image = path @ image
        exact = (beside * image).sum() / beside.square().sum()
        found = (spectrum.weights * spectrum.values**power).sum()
        assert torch.isclose(found, exact, atol=1e-12) == (power <= 3)
    return spectrum.values, spectrum.weights
