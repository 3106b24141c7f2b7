"""Growth of the full wave, distance from detailed balance, and the weights of the tokens."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from systems import normal, reversible, row_stochastic, seeds, symmetric, taus
from wavy.diagnostics import reversibility_defect, spectral_gap, stationary_distribution, wave_growth
from wavy.dynamics import mode_factors
from wavy.hosts.attention import simple_attention

EXACT = 1e-12
sizes = st.integers(2, 9)


@pytest.mark.equation("eq-growth")
@given(seeds, sizes, taus)
def test_growth_is_the_largest_factor_of_all_modes(seed, n, tau):
    a = row_stochastic(seed, n, scale=3.0)
    mu = 1 - torch.linalg.eigvals(a)
    rest = mu[mu.abs().argsort()][1:]
    assert wave_growth(a, tau).item() == pytest.approx(mode_factors(rest, tau, "full").abs().max().item(), rel=1e-10)
    # sin(w/2) = tau sqrt(mu)/2 with a complex w, and |z| = exp(|Im w|).
    exponent = 2 * torch.asin(tau * rest.sqrt() / 2).imag.abs().max().item()
    assert wave_growth(a, tau).item() == pytest.approx(math.exp(exponent), rel=1e-10)


@given(seeds, sizes, taus)
def test_no_growth_under_detailed_balance(seed, n, tau):
    for a in (symmetric(seed, n), reversible(seed, n)[0]):
        assert abs(wave_growth(a, tau).item() - 1) < EXACT


def test_growth_and_defect_of_a_cycle_are_known():
    """Tokens that read from themselves and, with weight p, from the next one around."""
    n, p, tau = 5, 0.3, 0.5
    a = (1 - p) * torch.eye(n) + p * torch.eye(n).roll(1, dims=1)
    turn = 2 * math.pi * torch.arange(n) / n
    mu = p * (1 - torch.exp(1j * turn.double()))
    assert wave_growth(a.double(), tau).item() == pytest.approx(mode_factors(mu, tau, "full").abs().max().item())
    assert reversibility_defect(a.double()).item() == pytest.approx(p * turn.sin().max().item())


@pytest.mark.equation("eq-reversibility")
@given(seeds, sizes)
def test_defect_is_zero_under_detailed_balance_and_bounds_the_imaginary_parts(seed, n):
    assert reversibility_defect(reversible(seed, n)[0]) < EXACT
    a = row_stochastic(seed, n, scale=3.0)
    assert torch.linalg.eigvals(a).imag.abs().max() <= reversibility_defect(a) + EXACT
    assert reversibility_defect(a) <= 1


@given(seeds, sizes)
def test_defect_is_zero_only_under_detailed_balance(seed, n):
    """No net flow pi_i a_ij - pi_j a_ji between two tokens is without effect on it."""
    a = row_stochastic(seed, n)
    pi = stationary_distribution(a)
    flow = pi[:, None] * a
    largest = ((flow - flow.T).abs() / (2 * torch.outer(pi, pi).sqrt())).max()
    assert largest - EXACT <= reversibility_defect(a) <= n * largest + EXACT


@pytest.mark.equation("eq-detailed-balance")
@given(seeds, sizes)
def test_stationary_distribution_is_kept_and_positive(seed, n):
    a = row_stochastic(seed, n, scale=3.0)
    pi = stationary_distribution(a)
    assert (pi > 0).all()
    assert abs(pi.sum() - 1) < EXACT
    assert (pi @ a - pi).abs().max() < EXACT


@pytest.mark.equation("eq-detailed-balance")
def test_tiny_weights_keep_their_digits():
    scores = 20 * normal(0, 6, 6)
    kernel = torch.exp(scores + scores.T)
    degrees = kernel.sum(dim=-1)
    a, pi = kernel / degrees[:, None], degrees / degrees.sum()
    assert pi.min() < 1e-18
    assert (stationary_distribution(a) / pi - 1).abs().max() < EXACT
    assert reversibility_defect(a) < EXACT


@given(seeds, taus)
def test_order_of_the_tokens_and_batch_axes_do_not_matter(seed, tau):
    a = torch.stack([row_stochastic(seed + k, 6, scale=2.0) for k in range(4)])
    turned = a.flip((-1, -2))
    for measure in (lambda a: wave_growth(a, tau), reversibility_defect):
        assert torch.allclose(measure(a), measure(turned), rtol=0, atol=1e-10)
        assert torch.equal(measure(a.view(2, 2, 6, 6)).flatten(), measure(a))


@pytest.mark.equation("eq-simple-attention")
@given(seeds, st.integers(5, 30))
def test_simple_attention_is_nearly_uniform_and_hardly_grows(seed, n):
    """All eigenvalues of DIFFormer's simple kernel but the 1 are at most 1 / (N - sqrt N)."""
    query, key = normal(seed, n, 1, 3), normal(seed + 1, n, 1, 3)
    a = simple_attention(query, key, torch.eye(n, dtype=torch.float64)[:, None]).squeeze(1)
    bound = 1 / (n - math.sqrt(n))
    assert 1 - spectral_gap(a) <= bound + EXACT
    assert wave_growth(a, 0.5) <= 1 + bound


def test_refusals():
    for measure in (stationary_distribution, reversibility_defect):
        with pytest.raises(ValueError, match=r"attention: found shape \(3, 4\), allowed \(\.\.\., N, N\)"):
            measure(torch.zeros(3, 4))
        with pytest.raises(ValueError, match="attention: found no unique positive pi"):
            measure(torch.eye(3))
        with pytest.raises(ValueError, match="attention: found no unique positive pi"):
            measure(torch.tensor([[1.0, 0.0], [0.5, 0.5]]))
    with pytest.raises(ValueError, match=r"attention: found shape \(1, 1\), allowed .* N >= 2"):
        wave_growth(torch.ones(1, 1), 0.5)
