"""Solutions of the exercises on over-smoothing."""

import math

import torch

from wavy.diagnostics import dirichlet_energy, effective_rank, mean_cosine
from wavy.dynamics import diffusion_step


def two_tokens(tau=0.5, a=0.2):
    """Layers until less than one per cent of the energy of two tokens is left."""
    factor = abs(1 - 2 * tau * a)
    layers = math.ceil(math.log(0.01) / (2 * math.log(factor)))
    attention = torch.tensor([[1 - a, a], [a, 1 - a]], dtype=torch.float64)
    x = torch.tensor([[1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    energies = [dirichlet_energy(x).item()]
    for _ in range(layers):
        x = diffusion_step(x, attention @ x, tau)
        energies.append(dirichlet_energy(x).item())
    assert math.isclose(energies[1], factor**2 * energies[0], rel_tol=1e-12)
    assert energies[-1] < 0.01 * energies[0] <= energies[-2]
    return layers


def causal_mask(tokens=8, layers=400, tau=0.5):
    """With a causal mask, attention drawn anew in each layer: all become the first."""
    torch.manual_seed(0)
    hidden = torch.ones(tokens, tokens).triu(1).bool()
    x = first = torch.randn(tokens, 4).double()
    for _ in range(layers):
        scores = torch.randn(tokens, tokens).double().masked_fill(hidden, -math.inf)
        x = diffusion_step(x, torch.softmax(scores, dim=-1) @ x, tau)
    assert torch.equal(x[0], first[0])
    assert torch.allclose(x, first[0].expand_as(x), atol=1e-6)


def negative_values(tokens=16, layers=200, tau=0.5):
    """Frozen attention with W_V = I and W_V = -I: cosine and rank in the end."""
    torch.manual_seed(0)
    attention = torch.softmax(torch.randn(tokens, tokens).double(), dim=-1)
    start = torch.randn(tokens, tokens).double()
    found = {}
    for sign in (1, -1):
        x = start
        for _ in range(layers):
            x = diffusion_step(x, sign * (attention @ x), tau)
            x = x / x.norm()  # only directions count
        found[sign] = mean_cosine(x).item(), effective_rank(x).item()
    assert found[1][0] > 0.999
    assert found[-1][0] < 0.2
    return found
