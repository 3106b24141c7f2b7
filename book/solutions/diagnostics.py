"""Solutions of the exercises on diagnostics."""

import math

import torch

from wavy.diagnostics import (
    dirichlet_energy,
    effective_rank,
    mean_cosine,
    relative_residual,
    token_cosines,
)


def one_length():
    """For tokens of one length, residual, cosine and energy say the same."""
    torch.manual_seed(0)
    n, d = 16, 32
    x = torch.nn.functional.layer_norm(torch.randn(n, d).double() + 0.3, (d,), eps=0)
    r, cosine = relative_residual(x), mean_cosine(x)
    assert torch.isclose(r**2, (1 - 1 / n) * (1 - cosine))
    assert torch.isclose(dirichlet_energy(x), 2 * d * r**2)
    stretched = x * torch.linspace(0.2, 3, n).double().unsqueeze(-1)
    assert torch.isclose(mean_cosine(stretched), cosine)
    assert not torch.isclose(relative_residual(stretched), r, rtol=1e-3)


def random_tokens():
    """Signed cosine, absolute cosine and effective rank of random tokens, by width."""
    torch.manual_seed(0)
    n, found = 64, {}
    for d in (2, 8, 64, 512):
        x = torch.randn(200, n, d).double()
        unit = torch.nn.functional.normalize(x, dim=-1)
        absolute = ((unit @ unit.mT).abs().sum((-1, -2)) - n) / (n * (n - 1))
        rank = effective_rank(x).mean()
        found[d] = mean_cosine(x).mean().item(), absolute.mean().item(), rank.item()
        assert abs(found[d][0]) < 0.01
        assert rank < min(n, d)
        if d >= 64:
            assert math.isclose(found[d][1], math.sqrt(2 / (math.pi * d)), rel_tol=0.02)
    used = {d: rank / min(n, d) for d, (_, _, rank) in found.items()}
    assert min(used, key=used.get) == n
    return found


def offset():
    """An offset as long as the tokens brings the cosine to one half."""
    torch.manual_seed(0)
    n, d = 500, 1000
    x = torch.randn(n, d).double()
    b = torch.randn(d).double()
    b = b / b.norm() * math.sqrt(d)
    assert math.isclose(mean_cosine(x + b).item(), 0.5, rel_tol=0.02)
    assert torch.isclose(dirichlet_energy(x + b), dirichlet_energy(x))
    assert math.isclose(dirichlet_energy(x).item(), 2 * d, rel_tol=0.02)


def hidden_token():
    """Two states of one mean cosine; the cosines of the tokens tell them apart."""
    n = 16
    apart = torch.zeros(n, n + 1).double()
    apart[:, 0] = 1
    apart[0, 0] = -1
    cosine = mean_cosine(apart).item()
    size = math.sqrt(1 / cosine - 1)
    own = size * torch.eye(n).double()
    alike = torch.cat([torch.ones(n, 1).double(), own], dim=1)
    assert math.isclose(mean_cosine(alike).item(), cosine, rel_tol=1e-12)
    assert token_cosines(alike).std() < 1e-12
    assert token_cosines(apart).min() < -0.9 < 0.8 < token_cosines(apart)[1:].min()
