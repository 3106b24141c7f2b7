"""What the chapter "Attention is diffusion" proves: contraction, limit, steps, and what values and a mask change."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from systems import normal, reversible, row_stochastic, seeds, taus
from wavy.diagnostics import stationary_distribution
from wavy.dynamics import diffusion_step, mode_factors

EXACT = 1e-12
sizes = st.integers(2, 12)
#: From nearly uniform attention to attention that reads almost from one token.
sharpness = st.sampled_from([0.1, 1.0, 4.0])


def contraction(a):
    """delta(A), half the largest L1 distance of two rows."""
    return ((a[:, None] - a[None]).abs().sum(dim=-1).max() / 2).item()


def spread(u):
    """osc(u) of each column."""
    return (u[:, None] - u[None]).abs().amax(dim=(0, 1))


def causal(seed, n):
    """Attention in which a token reads from itself and from earlier ones."""
    scores = normal(seed, n, n).masked_fill(torch.ones(n, n).triu(1).bool(), -math.inf)
    return torch.softmax(scores, dim=-1)


@pytest.mark.equation("eq-contraction")
@given(seeds, sizes, sharpness)
def test_contraction_is_one_minus_the_least_overlap_and_bounds_the_spread(seed, n, scale):
    a = row_stochastic(seed, n, scale)
    overlap = torch.minimum(a[:, None], a[None]).sum(dim=-1).min().item()
    assert contraction(a) == pytest.approx(1 - overlap, abs=EXACT)
    u = torch.complex(normal(seed + 1, n, 3), normal(seed + 2, n, 3))
    assert (spread(a.to(u.dtype) @ u) <= contraction(a) * spread(u) + EXACT).all()
    # It is the best such factor: some column of zeros and ones attains it.
    pair = divmod(int((a[:, None] - a[None]).abs().sum(dim=-1).argmax()), n)
    sharp = (a[pair[0]] > a[pair[1]]).double()[:, None]
    assert spread(a @ sharp).item() == pytest.approx(contraction(a), abs=EXACT)


@pytest.mark.equation("eq-contraction")
@given(seeds, sizes, sharpness)
def test_all_eigenvalues_but_one_lie_within_the_contraction_coefficient(seed, n, scale):
    a = row_stochastic(seed, n, scale)
    moduli = torch.linalg.eigvals(a).abs().sort(descending=True).values
    assert moduli[0].item() == pytest.approx(1, abs=1e-9)
    assert moduli[1].item() <= contraction(a) + 1e-9


@pytest.mark.equation("eq-spread-bound")
@given(seeds, sizes, taus)
def test_the_bound_on_the_spread_holds_in_every_layer_also_when_attention_moves(seed, n, tau):
    x = normal(seed, n, 3)
    bound = spread(x)
    for layer in range(20):
        a = row_stochastic(seed + layer, n, 2.0)
        x, bound = diffusion_step(x, a @ x, tau), bound * (1 - tau * (1 - contraction(a)))
        assert (spread(x) <= bound + EXACT).all()


@pytest.mark.equation("eq-limit")
@given(seeds, sizes)
def test_the_limit_with_symmetric_scores_weighs_tokens_by_their_row_sums(seed, n):
    a, by_degree = reversible(seed, n)
    assert torch.allclose(stationary_distribution(a), by_degree, rtol=0, atol=EXACT)
    limit = torch.linalg.matrix_power(diffusion_step(torch.eye(n).double(), a, 0.5), 2**12)
    assert torch.allclose(limit, by_degree.expand(n, n), rtol=0, atol=1e-9)


@pytest.mark.equation("eq-limit")
@given(seeds, sizes)
def test_under_a_causal_mask_all_tokens_tend_to_the_first(seed, n):
    a = causal(seed, n)
    assert contraction(a) < 1
    assert torch.allclose(torch.linalg.eigvals(a).real.sort().values, a.diagonal().sort().values)
    limit = torch.linalg.matrix_power(diffusion_step(torch.eye(n).double(), a, 0.5), 2**20)
    first = torch.zeros(n, n).double().index_fill(1, torch.tensor([0]), 1)
    assert torch.allclose(limit, first, rtol=0, atol=1e-9)


@pytest.mark.equation("eq-heat", "eq-heat-solution")
@given(seeds, sizes)
def test_the_exact_solution_is_an_average_and_solves_the_equation(seed, n):
    a = row_stochastic(seed, n)
    laplacian = torch.eye(n).double() - a
    time, one = torch.tensor([0.7, 1.0], dtype=torch.float64)
    solution, rate = torch.autograd.functional.jvp(lambda t: torch.linalg.matrix_exp(-t * laplacian), time, one)
    assert torch.allclose(rate, -laplacian @ solution, rtol=0, atol=EXACT)
    assert (solution >= 0).all()
    assert torch.allclose(solution.sum(dim=-1), torch.ones(n).double(), rtol=0, atol=EXACT)
    averagings = sum(math.exp(-0.7) * 0.7**k / math.factorial(k) * torch.linalg.matrix_power(a, k) for k in range(25))
    assert torch.allclose(solution, averagings, rtol=0, atol=EXACT)


@pytest.mark.equation("eq-diffusion")
@given(seeds, sizes)
def test_explicit_euler_is_of_first_order(seed, n):
    a, x0 = row_stochastic(seed, n), normal(seed + 1, n, 2)
    exact = torch.linalg.matrix_exp(a - torch.eye(n).double()) @ x0

    def error(steps):
        x = x0
        for _ in range(steps):
            x = diffusion_step(x, a @ x, 1 / steps)
        return (x - exact).abs().max().item()

    assert error(128) / error(256) == pytest.approx(2, abs=0.1)


@pytest.mark.equation("eq-diffusion")
@given(seeds, sizes)
def test_a_step_up_to_the_limit_makes_no_mode_grow_and_a_longer_one_does(seed, n):
    mu = 1 - torch.linalg.eigvals(row_stochastic(seed, n))
    mu = mu[mu.abs() > 1e-9]
    limit = (2 * mu.real / mu.abs() ** 2).min()
    assert limit > 1
    assert mode_factors(mu, limit, "diffusion").abs().max() <= 1 + 1e-9
    assert mode_factors(mu, 1.01 * limit, "diffusion").abs().max() > 1


@pytest.mark.equation("eq-value-factor")
@given(seeds, sizes, taus)
def test_with_values_a_mode_of_tokens_and_channels_is_multiplied_by_its_factor(seed, n, tau):
    a, w = row_stochastic(seed, n).to(torch.complex128), normal(seed + 1, 4, 4).to(torch.complex128)
    a_values, tokens = torch.linalg.eig(a)
    w_values, channels = torch.linalg.eig(w.T)
    x = torch.outer(tokens[:, -1], channels[:, -1])
    factor = 1 - tau + tau * a_values[-1] * w_values[-1]
    assert torch.allclose(diffusion_step(x, a @ x @ w, tau), factor * x, rtol=0, atol=1e-9)
