"""The wave as a differential equation and its three schemes: orders, roots, dispersion, bound and drift."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from systems import normal, reversible, row_stochastic, seeds, symmetric, taus
from wavy.diagnostics import stationary_distribution
from wavy.dynamics import diffusion_step, mode_factors, wave_step

N = 8
EXACT = 1e-12


def explicit_euler(x, y, a, tau):
    return x + tau * y, y + tau * (a @ x - x)


def symplectic_euler(x, y, a, tau):
    return wave_step(x, y, a @ x, tau)


def leapfrog(x, y, a, tau):
    half = y + tau / 2 * (a @ x - x)
    x = x + tau * half
    return x, half + tau / 2 * (a @ x - x)


def orbit(scheme, x, y, a, tau, steps):
    """The states X^0 ... X^steps, one below the other."""
    states = [x]
    for _ in range(steps):
        x, y = scheme(x, y, a, tau)
        states.append(x)
    return torch.stack(states)


def one_mode(mu, x=1.0, y=0.0):
    """The state, the velocity and the matrix A of a single mode."""
    return tuple(torch.tensor([[value]], dtype=torch.float64) for value in (x, y, 1 - mu))


def close(found, expected, scale=1.0):
    """Equal up to rounding: to 1e-12 beside the largest number that entered."""
    return (found - expected).abs().max() <= EXACT * scale


@pytest.mark.equation("eq-oscillator", "eq-wave", "eq-leapfrog")
@pytest.mark.parametrize(("scheme", "order"), [(explicit_euler, 1), (symplectic_euler, 1), (leapfrog, 2)])
def test_order_of_each_scheme(scheme, order):
    a, x = symmetric(0, N), normal(1, N, 3)
    frequencies, modes = torch.linalg.eigh(torch.eye(N, dtype=torch.float64) - a)
    exact = modes @ (torch.cos(frequencies.clamp(min=0).sqrt() * 3.0)[:, None] * (modes.T @ x))
    counts = (96, 192, 384)
    errors = [
        (orbit(scheme, x, torch.zeros_like(x), a, 3.0 / steps, steps)[-1] - exact).norm().item() for steps in counts
    ]
    assert math.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.1)
    assert math.log2(errors[1] / errors[2]) == pytest.approx(order, abs=0.1)


@pytest.mark.equation("eq-explicit-euler")
@given(st.floats(0.05, 2), taus)
def test_explicit_euler_spirals_outward(mu, tau):
    x, y, a = one_mode(mu, 0.3, 0.7)
    x_next, y_next = explicit_euler(x, y, a, tau)
    energy, energy_next = (mu * u * u + v * v for u, v in ((x, y), (x_next, y_next)))
    assert close(energy_next, (1 + tau**2 * mu) * energy)


@pytest.mark.equation("eq-leapfrog")
@given(seeds, taus)
def test_symplectic_euler_is_leapfrog_half_a_kick_later(seed, tau):
    a, x, y = row_stochastic(seed, N), normal(seed, N, 3), normal(seed + 1, N, 3)
    shifted = y + tau / 2 * (a @ x - x)
    expected = orbit(leapfrog, x, shifted, a, tau, 20)
    assert close(orbit(symplectic_euler, x, y, a, tau, 20), expected, expected.abs().max())


@pytest.mark.equation("eq-wave")
@given(seeds, taus)
def test_a_wave_step_can_be_undone(seed, tau):
    a, x, y = row_stochastic(seed, N), normal(seed, N, 3), normal(seed + 1, N, 3)
    x_next, y_next = wave_step(x, y, a @ x, tau)
    back = x_next - tau * y_next
    assert close(back, x, 10)
    assert close(y_next - tau * (a @ back - back), y, 10)


@pytest.mark.equation("eq-wave-momentum")
@given(seeds, taus)
def test_without_the_velocity_it_is_diffusion_of_tau_squared_with_momentum_one(seed, tau):
    a, x, y = row_stochastic(seed, N), normal(seed, N, 3), normal(seed + 1, N, 3)
    states = orbit(symplectic_euler, x, y, a, tau, 20)
    before, now, after = states[:-2], states[1:-1], states[2:]
    expected = diffusion_step(now, a @ now, tau**2) + now - before
    assert close(after, expected, states.abs().max())


@pytest.mark.equation("eq-wave-roots")
@given(seeds, taus)
def test_the_two_factors_of_every_mode(seed, tau):
    a = row_stochastic(seed, N, scale=3.0)
    values, vectors = torch.linalg.eig(a)
    z = mode_factors(1 - values, tau, "full")
    assert close(z.prod(dim=-1), torch.ones(N))
    assert close(z.sum(dim=-1), 2 - tau**2 * (1 - values), 10)
    # z advances the pair (X, Y) = (v, (z - 1) / (tau z) v).
    x = vectors
    y = (z[:, 0] - 1) / (tau * z[:, 0]) * vectors
    x_next, y_next = wave_step(x, y, a.to(x.dtype) @ x, tau)
    assert close(x_next, z[:, 0] * x, 1e2)
    assert close(y_next, z[:, 0] * y, 1e2)


@pytest.mark.equation("eq-dispersion")
@given(st.floats(1e-3, 0.999), taus)
def test_dispersion_relation(share, tau):
    mu = share * 4 / tau**2
    z = mode_factors(mu, tau, "full")
    assert close(z.abs(), torch.ones(2))
    # |exp(i w) - 1| = 2 sin(w / 2): well conditioned up to the bound, unlike the angle itself.
    expected = tau * math.sqrt(mu)
    assert close((z - 1).abs(), expected)
    assert close(2 * torch.sin(z.angle().abs() / 2), expected)


@pytest.mark.equation("eq-wave-orbit")
@given(st.floats(1e-3, 0.9), taus)
def test_orbit_of_a_mode_that_starts_at_rest(share, tau):
    mu = share * 4 / tau**2
    angle = 2 * math.asin(math.sqrt(share))
    layers = torch.arange(101, dtype=torch.float64)
    expected = torch.cos((layers + 0.5) * angle) / math.cos(angle / 2)
    states = orbit(symplectic_euler, *one_mode(mu), tau, 100).flatten()
    assert close(states, expected, 1e3)
    assert states.abs().max() <= (1 - share) ** -0.5 * (1 + EXACT)


@given(taus)
def test_at_the_bound_a_mode_grows_linearly(tau):
    layers = torch.arange(41, dtype=torch.float64)
    states = orbit(symplectic_euler, *one_mode(4 / tau**2), tau, 40).flatten()
    assert close(states, (-1) ** layers * (2 * layers + 1), 1e3)


@given(taus, st.sampled_from([-0.96, -0.1, 4.2, 6.0]))
def test_beyond_the_bound_and_below_zero_a_mode_grows_exponentially(tau, mu):
    mu = mu / tau**2 if mu > 0 else mu
    growth = mode_factors(mu, tau, "full")[0].abs().item()
    steps = math.ceil(20 / math.log(growth))
    states = orbit(symplectic_euler, *one_mode(mu), tau, steps).flatten().abs()
    assert growth > 1
    assert (states[-1] / states[-2]).item() == pytest.approx(growth, rel=1e-9)


@given(seeds, taus)
def test_the_weighted_mean_drifts_with_its_constant_velocity(seed, tau):
    a, x, y = row_stochastic(seed, N), normal(seed, N, 3), normal(seed + 1, N, 3)
    pi, states = stationary_distribution(a), orbit(symplectic_euler, x, y, a, tau, 40)
    layers = torch.arange(41, dtype=torch.float64)[:, None]
    assert close(pi @ states, pi @ x + layers * tau * (pi @ y), states.abs().max())


@given(seeds, taus)
@settings(max_examples=50)
def test_under_detailed_balance_every_step_up_to_one_is_within_the_bound(seed, tau):
    a, pi = reversible(seed, N)
    mu = torch.linalg.eigvalsh(torch.eye(N) - pi.sqrt()[:, None] * a / pi.sqrt())
    assert close(mu[0], torch.zeros(()))
    assert 0 < mu[1] <= mu[-1] < 2
    assert close(mode_factors(mu[1:], tau, "full").abs(), torch.ones(N - 1, 2))
