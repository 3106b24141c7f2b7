"""When the wave step is symplectic, what it then conserves, and when it is not: theory of the symplectic wave."""

from __future__ import annotations

import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from systems import normal, reversible, row_stochastic, seeds, symmetric, taus
from wavy.dynamics import mode_factors, shadow_energy, wave_step

N = 8


def step(a, tau):
    """The wave step as a map on the stacked vector (X, Y), d = 1."""

    def advance(state):
        x, y = state[:N, None], state[N:, None]
        return torch.cat(wave_step(x, y, a(x) @ x, tau)).flatten()

    return advance


def defect(a, tau, weight=None, at=None):
    """max |J^T Omega J - Omega| with Omega = [[0, W], [-W, 0]], relative to W, and det J."""
    state = torch.zeros(2 * N, dtype=torch.float64) if at is None else at
    jacobian = torch.autograd.functional.jacobian(step(a, tau), state)
    w = torch.eye(N, dtype=torch.float64) if weight is None else torch.diag(weight * N)
    zero = torch.zeros_like(w)
    omega = torch.cat([torch.cat([zero, w], dim=1), torch.cat([-w, zero], dim=1)])
    return (jacobian.T @ omega @ jacobian - omega).abs().max().item(), torch.linalg.det(jacobian).item()


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


@given(seeds, taus)
@settings(max_examples=25)
def test_symmetric_attention_is_symplectic_and_conserves(seed, tau):
    a = symmetric(seed, N)
    distance, determinant = defect(lambda x: a, tau)
    assert distance < 1e-12
    assert abs(determinant - 1) < 1e-10
    assert energy_drift(a, tau, seed=seed) < 1e-11


@given(seeds, taus)
@settings(max_examples=25)
def test_detailed_balance_is_symplectic_in_the_weighted_product(seed, tau):
    a, pi = reversible(seed, N)
    assert defect(lambda x: a, tau, weight=pi)[0] < 1e-12
    assert energy_drift(a, tau, weight=pi, seed=seed) < 1e-11


def test_detailed_balance_fails_in_the_unweighted_product():
    a, _ = reversible(3, N)
    assert defect(lambda x: a, 0.5)[0] > 1e-2
    assert energy_drift(a, 0.5) > 1e-2


@given(seeds, taus)
@settings(max_examples=25)
def test_ordinary_attention_keeps_volume_only(seed, tau):
    a = row_stochastic(seed, N, scale=2.0)
    distance, determinant = defect(lambda x: a, tau)
    assert distance > 1e-3 * tau
    assert abs(determinant - 1) < 1e-10


def test_ordinary_attention_grows():
    a = row_stochastic(0, N, scale=3.0)
    mu = 1 - torch.linalg.eigvals(a)
    growth = mode_factors(mu, 0.5, "full").abs().max().item()
    assert growth > 1.005
    x, y = normal(1, N, 3), torch.zeros(N, 3, dtype=torch.float64)
    sizes = []
    for _ in range(2000):
        x, y = wave_step(x, y, a @ x, 0.5)
        sizes.append(x.norm().item())
    measured = (sizes[-1] / sizes[-1001]) ** (1 / 1000)
    assert abs(measured - growth) < 1e-3


def test_attention_that_depends_on_the_state_is_not_symplectic():
    def attention(x):
        return torch.softmax(x @ x.T, dim=-1)

    distance, determinant = defect(attention, 0.5, at=normal(5, 2 * N))
    assert distance > 1e-2
    assert abs(determinant - 1) < 1e-10


def test_the_mean_of_two_reversible_heads_is_not_reversible():
    (first, pi_first), (second, pi_second) = reversible(1, N), reversible(2, N)
    mean = (first + second) / 2
    for weight in (pi_first, pi_second, (pi_first + pi_second) / 2):
        assert defect(lambda x: mean, 0.5, weight=weight)[0] > 1e-3


@given(seeds, st.floats(0.1, 1.9))
@settings(max_examples=25)
def test_energy_is_positive_exactly_below_the_bound(seed, share):
    """H as a quadratic form of one mode: positive definite iff tau^2 mu < 4."""
    assume(abs(share - 1) > 1e-3)
    mu, tau = 1.5, (share * 4 / 1.5) ** 0.5
    one = torch.ones(1, 1, dtype=torch.float64)
    x, y = normal(seed, 1000, 1, 1), normal(seed + 1, 1000, 1, 1)
    # The direction of least energy at fixed |X| is Y = tau/2 L X.
    x, y = torch.cat([x, one[None]]), torch.cat([y, tau / 2 * mu * one[None]])
    energy = shadow_energy(x, y, (1 - mu) * x, tau)
    assert bool((energy > 0).all()) == (tau**2 * mu < 4)
