"""Solutions of the chapter on the diagnosis of trained models."""

import math

import torch
from torch.nn.functional import layer_norm

from wavy.diagnostics import mean_cosine, node_variance, spectral_gap
from wavy.residual import Residual


def variance_after_the_norm(tokens: int = 17, dim: int = 64) -> float:
    """After LayerNorm without gain and bias, node variance and cosine say the same."""
    x = torch.randn(tokens, dim, dtype=torch.float64) + torch.randn(dim)
    x = layer_norm(x, (dim,), eps=0.0)
    told = (1 - mean_cosine(x)) * (tokens - 1) / tokens
    assert torch.allclose(node_variance(x), told)
    return told.item()


def causal_gap(tokens: int = 20, steps: int = 30) -> float:
    """Distances to the first token shrink by the gap's rate in the long run."""
    a = torch.ones(tokens, tokens, dtype=torch.float64).tril()
    a = a / a.sum(dim=-1, keepdim=True)
    gap = spectral_gap(a).item()
    x = torch.randn(tokens, 1, dtype=torch.float64)
    sizes = []
    for _ in range(steps):
        x = a @ x
        sizes.append((x - x[0]).abs().max().item())
    assert math.isclose(gap, 0.5)
    assert math.isclose(sizes[-1] / sizes[-2], 1 - gap, rel_tol=1e-2)
    return gap


def step_that_ends_at_zero(depth: int = 12) -> float:
    """The step at which a free full wave first passes zero after its last layer."""
    tau = 2 * math.sin(math.pi / (2 * depth + 1) / 2)
    residual = Residual(1, "full", tau)
    x, velocity = torch.ones(1, 1, dtype=torch.float64), None
    for _ in range(depth):
        assert x.item() > 0
        x, velocity = residual(x, torch.zeros_like(x), velocity)
    assert abs(x.item()) < 1e-9
    return tau
