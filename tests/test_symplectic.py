"""When the wave step is symplectic, what it then conserves, and when it is not: theory of the symplectic wave."""

from __future__ import annotations

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from systems import normal, reversible, row_stochastic, seeds, symmetric, taus
from wavy.diagnostics import reversibility_defect, stationary_distribution
from wavy.dynamics import mode_factors, shadow_energy, wave_step
from wavy.hosts.softmax_attention import SoftmaxAttention

N = 8
EXACT = 1e-12


def frozen(a):
    """The force A X - X with one A for all states."""
    return lambda x: a @ x - x


def own_attention(x):
    """The force of attention that depends on the state, queries equal to keys."""
    return torch.softmax(x @ x.T, dim=-1) @ x - x


def jacobian(force, tau, at=None, channels=1):
    """Of the wave step as a map on the stacked vector (X, Y)."""
    state = torch.zeros(2 * N * channels, dtype=torch.float64) if at is None else at

    def advance(state):
        x, y = state.view(2, N, channels)
        return torch.stack(wave_step(x, y, x + force(x), tau)).flatten()

    return torch.autograd.functional.jacobian(advance, state)


def distance(jacobian, weight=None):
    """J^T Omega J - Omega with Omega = [[0, W], [-W, 0]], W the weights on the diagonal, N their sum."""
    size = len(jacobian) // 2
    w = torch.eye(size, dtype=torch.float64) if weight is None else torch.diag(weight * N)
    zero = torch.zeros_like(w)
    omega = torch.cat([torch.cat([zero, w], dim=1), torch.cat([-w, zero], dim=1)])
    return jacobian.T @ omega @ jacobian - omega


def defect(a, tau, weight=None):
    return distance(jacobian(frozen(a), tau), weight).abs().max().item()


def energy_drift(a, tau, weight=None, seed=0, steps=200):
    """Largest change of the shadow energy beside the sum of its absolute terms."""
    x, y = normal(seed, N, 3), normal(seed + 1, N, 3)
    w = torch.ones(N, dtype=torch.float64) if weight is None else weight
    # Without a mean velocity the drift mode stays bounded, and so does the cancellation in H.
    y = y - (w @ y) / w.sum()
    start, worst = shadow_energy(x, y, a @ x, tau, weight), 0.0
    for _ in range(steps):
        x, y = wave_step(x, y, a @ x, tau)
        lx = x - a @ x
        scale = ((y * y + (x * lx).abs() + tau * (y * lx).abs()) * w[:, None]).sum() / 2
        worst = max(worst, ((shadow_energy(x, y, a @ x, tau, weight) - start).abs() / scale).item())
    return worst


@pytest.mark.equation("eq-symplectic")
@given(seeds, taus)
@settings(max_examples=25)
def test_symmetric_attention_is_symplectic(seed, tau):
    assert defect(symmetric(seed, N), tau) < EXACT


@pytest.mark.equation("eq-shadow-energy")
@given(seeds, taus)
@settings(max_examples=25)
def test_symmetric_attention_conserves_the_shadow_energy(seed, tau):
    assert energy_drift(symmetric(seed, N), tau, seed=seed) < EXACT


@pytest.mark.equation("eq-detailed-balance")
@given(seeds, taus)
@settings(max_examples=25)
def test_detailed_balance_is_symplectic_and_conserves_in_the_weighted_product(seed, tau):
    a, pi = reversible(seed, N)
    assert (stationary_distribution(a) - pi).abs().max() < EXACT
    assert defect(a, tau, weight=pi) < EXACT
    assert energy_drift(a, tau, weight=pi, seed=seed) < EXACT


def test_detailed_balance_fails_in_the_unweighted_product():
    a, _ = reversible(3, N)
    assert defect(a, 0.5) > 1e-2
    assert energy_drift(a, 0.5) > 1e-2


@given(seeds, st.floats(0.1, 1.9))
@settings(max_examples=25)
def test_shadow_energy_is_positive_exactly_below_the_bound(seed, share):
    """H as a quadratic form of one mode: positive definite iff tau^2 mu < 4."""
    assume(abs(share - 1) > 1e-3)
    mu, tau = 1.5, (share * 4 / 1.5) ** 0.5
    one = torch.ones(1, 1, dtype=torch.float64)
    x, y = normal(seed, 1000, 1, 1), normal(seed + 1, 1000, 1, 1)
    # The direction of least energy at fixed |X| is Y = tau/2 L X.
    x, y = torch.cat([x, one[None]]), torch.cat([y, tau / 2 * mu * one[None]])
    energy = shadow_energy(x, y, (1 - mu) * x, tau)
    assert bool((energy > 0).all()) == (tau**2 * mu < 4)


@pytest.mark.equation("eq-shadow-energy")
@given(seeds, taus)
def test_shadow_energy_is_that_of_leapfrog(seed, tau):
    """With the velocity of leapfrog the mixed term goes, and the potential loses tau^2/4 |L X|^2."""
    a, x, y = symmetric(seed, N), normal(seed, N, 3), normal(seed + 1, N, 3)
    lx = x - a @ x
    v = y - tau / 2 * lx
    expected = 0.5 * (v * v + x * lx - tau**2 / 4 * lx * lx).sum()
    assert (shadow_energy(x, y, a @ x, tau) - expected).abs() < EXACT * 100


def test_kinetic_plus_potential_energy_swings_in_proportion_to_the_step():
    a, pi = reversible(0, N)

    def swing(tau):
        x, y, energies = normal(1, N, 3), torch.zeros(N, 3, dtype=torch.float64), []
        for _ in range(int(50 / tau)):
            x, y = wave_step(x, y, a @ x, tau)
            energies.append((0.5 * pi[:, None] * (y * y + x * (x - a @ x))).sum())
        return (max(energies) - min(energies)).item()

    assert swing(0.1) / swing(0.05) == pytest.approx(2, rel=0.1)


@given(seeds, taus)
@settings(max_examples=25)
def test_ordinary_attention_keeps_volume_only(seed, tau):
    a = row_stochastic(seed, N, scale=2.0)
    assert defect(a, tau) > 1e-3 * tau
    assert abs(torch.linalg.det(jacobian(frozen(a), tau)) - 1) < EXACT


@pytest.mark.equation("eq-reversibility")
@given(seeds, taus)
@settings(max_examples=25)
def test_the_symplectic_defect_is_two_tau_times_the_reversibility_defect(seed, tau):
    """In the coordinates in which the weighted product is the plain one, and in the spectral norm."""
    a = row_stochastic(seed, N, scale=2.0)
    root = stationary_distribution(a).sqrt()
    balanced = root[:, None] * a / root
    found = torch.linalg.matrix_norm(distance(jacobian(frozen(balanced), tau)), ord=2)
    assert (found - 2 * tau * reversibility_defect(a)).abs() < EXACT


@pytest.mark.equation("eq-growth")
def test_ordinary_attention_grows_as_its_spectrum_says():
    a = row_stochastic(0, N, scale=3.0)
    growth = mode_factors(1 - torch.linalg.eigvals(a), 0.5, "full").abs().max().item()
    assert growth > 1.005
    x, y = normal(1, N, 3), torch.zeros(N, 3, dtype=torch.float64)
    sizes = []
    for _ in range(2000):
        x, y = wave_step(x, y, a @ x, 0.5)
        sizes.append(x.norm().item())
    measured = (sizes[-1] / sizes[-1001]) ** (1 / 1000)
    assert abs(measured - growth) < 1e-3


@given(seeds, taus)
@settings(max_examples=25)
def test_attention_that_depends_on_the_state_keeps_volume_only(seed, tau):
    found = jacobian(own_attention, tau, at=normal(seed, 2 * N))
    assert distance(found).abs().max() > 1e-3 * tau
    assert abs(torch.linalg.det(found) - 1) < EXACT


@given(seeds)
@settings(max_examples=10)
def test_any_force_keeps_volume_values_normalisation_and_heads_included(seed):
    torch.manual_seed(seed)
    attention, norm = SoftmaxAttention(4, heads=2).double(), torch.nn.LayerNorm(4).double()
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        found = jacobian(lambda x: attention(norm(x)) - x, 0.5, at=normal(seed, 2 * N * 4), channels=4)
    assert distance(found).abs().max() > 1e-2
    assert abs(torch.linalg.det(found) - 1) < EXACT * 10


def test_the_mean_of_two_reversible_heads_is_not_reversible():
    (first, pi_first), (second, pi_second) = reversible(1, N), reversible(2, N)
    mean = (first + second) / 2
    for weight in (pi_first, pi_second, (pi_first + pi_second) / 2):
        assert defect(mean, 0.5, weight=weight) > 1e-3
    assert reversibility_defect(mean) > 1e-3
