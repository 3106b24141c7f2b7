"""The update rules against their closed forms: theory of diffusion, wave, light wave and mixes."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from systems import lambdas, normal, row_stochastic, seeds, symmetric, taus
from wavy.dynamics import KINDS, MIXED_KINDS, diffusion_step, light_step, mix, mode_factors, shadow_energy, wave_step

sizes = st.integers(2, 12)


def step_all(kind, x, memory, ax, tau, lam):
    """One step of any kind on (state, memory), from the public functions alone."""
    if kind == "diffusion":
        return diffusion_step(x, ax, tau), memory
    if kind == "light":
        return light_step(x, memory, ax, tau, lam), x
    if kind == "mix_light":
        return mix(x + tau**2 * (ax - x) + (x - memory), diffusion_step(x, ax, tau), lam), x
    x_wave, velocity = wave_step(x, memory, ax, tau)
    return (x_wave if kind == "full" else mix(x_wave, diffusion_step(x, ax, tau), lam)), velocity


@pytest.mark.equation("eq-diffusion", "eq-limit")
@given(seeds, sizes, taus)
def test_diffusion_reaches_the_weighted_mean(seed, n, tau):
    a = row_stochastic(seed, n)
    x = normal(seed + 1, n, 3)
    values, vectors = torch.linalg.eig(a.T)
    pi = vectors[:, (values - 1).abs().argmin()].real
    limit = ((pi / pi.sum()) @ x).expand(n, 3)
    rate = mode_factors(1 - values, tau, "diffusion").abs().flatten().sort(descending=True).values[1]
    steps = math.ceil(math.log(1e-11) / math.log(max(rate.item(), 0.1)))
    for _ in range(min(steps, 20_000)):
        x = diffusion_step(x, a @ x, tau)
    assert torch.allclose(x, limit, atol=1e-7)


@pytest.mark.equation("eq-wave", "eq-wave-momentum")
@given(seeds, sizes, taus)
def test_a_wave_step_is_diffusion_of_tau_squared_with_momentum_one(seed, n, tau):
    a = row_stochastic(seed, n)
    x_prev = normal(seed, 2, n, 3)
    x, y = wave_step(x_prev, torch.zeros_like(x_prev), a @ x_prev, tau)
    for _ in range(3):
        expected = diffusion_step(x, a @ x, tau**2) + (x - x_prev)
        x_prev, (x, y) = x, wave_step(x, y, a @ x, tau)
        assert torch.allclose(x, expected, atol=1e-10)


@pytest.mark.equation("eq-roots")
@given(st.floats(1e-6, 0.999), taus)
def test_below_the_bound_modes_neither_grow_nor_decay(share, tau):
    mu = share * 4 / tau**2
    z = mode_factors(mu, tau, "full")
    assert torch.allclose(z.abs(), torch.ones(2, dtype=torch.float64), atol=1e-12)
    assert math.isclose(math.sin(z[0].angle().item() / 2), tau * math.sqrt(mu) / 2, abs_tol=1e-7)


@given(taus)
def test_at_the_bound_beyond_it_and_at_negative_mu(tau):
    # The double root loses half the digits.
    assert torch.allclose(mode_factors(4 / tau**2, tau, "full"), -torch.ones(2, dtype=torch.complex128), atol=1e-6)
    assert mode_factors(1.1 * 4 / tau**2, tau, "full")[0].abs() > 1.2
    assert mode_factors(-0.96, tau, "full")[0].abs() > 1
    assert torch.equal(mode_factors(0.0, tau, "full"), torch.ones(2, dtype=torch.complex128))


@pytest.mark.equation("eq-wave")
@given(seeds, taus, st.integers(2, 40))
def test_a_mean_velocity_makes_the_mean_drift_linearly(seed, tau, steps):
    a = symmetric(seed, 6)
    x, y = normal(seed, 6, 2), torch.ones(6, 2, dtype=torch.float64)
    start = x.mean(dim=0)
    for _ in range(steps):
        x, y = wave_step(x, y, a @ x, tau)
    assert torch.allclose(x.mean(dim=0), start + steps * tau, atol=1e-8)


@pytest.mark.equation("eq-diffusion", "eq-wave", "eq-light", "eq-mix", "eq-roots")
@given(seeds, taus, st.floats(0.05, 1), st.sampled_from(KINDS))
def test_mode_factors_advance_an_eigenvector(seed, tau, lam, kind):
    lam = lam if kind in MIXED_KINDS else None
    a = row_stochastic(seed, 5)
    values, vectors = torch.linalg.eig(a)
    mu, v = 1 - values[-1], vectors[:, -1:]
    z = mode_factors(mu, tau, kind, lam)[0]
    assume(z.abs() > 1e-3)
    # On the geometric solution X^l = z^l v the memory has one possible value; a step must multiply the pair by z.
    share = 1.0 if kind == "full" else lam
    if kind in ("full", "mix_full"):
        memory = (z - share - (1 - share) * (1 - tau * mu)) / (share * tau * z) * v
    else:
        memory = v / z
    x, memory_next = step_all(kind, v, memory, a.to(v.dtype) @ v, tau, lam)
    assert torch.allclose(x, z * v, atol=1e-9)
    if kind != "diffusion":
        assert torch.allclose(memory_next, z * memory, atol=1e-7)


@pytest.mark.equation("eq-roots")
@given(st.floats(-1, 3), taus, lambdas)
def test_roots_solve_their_polynomials(mu, tau, lam):
    s = lam * tau**2 + (1 - lam) * tau
    total_and_product = {
        "full": (2 - tau**2 * mu, 1.0),
        "light": (1 + lam - tau * mu, lam),
        "mix_full": (2 - s * mu, 1 - (1 - lam) * tau * mu),
        "mix_light": (1 + lam - s * mu, lam),
    }
    for kind, (total, product) in total_and_product.items():
        z = mode_factors(mu, tau, kind, lam if kind in MIXED_KINDS else None)
        assert torch.allclose(z * z - total * z + product, torch.zeros(2, dtype=z.dtype), atol=1e-12)
        assert z[0].abs() >= z[1].abs() - 1e-12


def test_light_wave_decays_slower_only_where_diffusion_is_fast():
    slow = mode_factors(1.0, 0.5, "light", 0.5)[0].abs().item()
    assert slow == pytest.approx(math.sqrt(0.5))
    assert mode_factors(1.0, 0.5, "diffusion")[0].abs().item() == pytest.approx(0.5)
    # A slow mode is smoothed faster, by 1 / (1 - lambda) in the exponent.
    mu, tau, lam = 1e-4, 0.5, 0.9
    assert 1 - mode_factors(mu, tau, "light", lam)[0].abs().item() == pytest.approx(tau * mu / (1 - lam), rel=1e-2)


def test_mode_factors_broadcast_and_order():
    z = mode_factors(torch.linspace(0, 2, 7)[:, None], torch.tensor([0.2, 0.5]), "light", 0.5)
    assert z.shape == (7, 2, 2)
    assert z.dtype == torch.complex128
    pair = mode_factors(1.0, 0.5, "full")
    assert pair[0].imag > 0 > pair[1].imag
    assert mode_factors(torch.zeros(3, 4), 0.5, "diffusion").shape == (3, 4, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1.0, 0.5, "heat"), "kind: found 'heat', allowed diffusion, full, light, mix_full, mix_light"),
        ((1.0, 0.5, "light"), "lam: found None"),
        ((1.0, 0.5, "full", 0.5), "lam: found 0.5, but kind 'full' has no lambda"),
        ((1.0, 0.5, "light", 1.5), r"lam: found 1.5 to 1.5, allowed \[0, 1\]"),
    ],
)
def test_mode_factors_refuse(arguments, message):
    with pytest.raises(ValueError, match=message):
        mode_factors(*arguments)


@pytest.mark.equation("eq-shadow-energy")
@given(seeds, st.integers(1, 3), sizes)
def test_energy_has_one_value_a_batch_entry(seed, batch, n):
    x, y = normal(seed, batch, n, 3), normal(seed + 1, batch, n, 3)
    a = symmetric(seed, n)
    energy = shadow_energy(x, y, a @ x, 0.3)
    assert energy.shape == (batch,)
    for entry in range(batch):
        laplacian = torch.eye(n, dtype=torch.float64) - a
        lx = laplacian @ x[entry]
        expected = 0.5 * y[entry].square().sum() + 0.5 * (x[entry] * lx).sum() - 0.15 * (y[entry] * lx).sum()
        assert torch.allclose(energy[entry], expected)
