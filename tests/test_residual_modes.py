"""What each residual kind does to a mode: regimes, when it keeps more than diffusion, damping, and the stock form."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from systems import normal, row_stochastic, seeds, taus
from wavy.dynamics import MIXED_KINDS, diffusion_step, light_step, mode_factors
from wavy.residual import Residual

EXACT = 1e-12
#: How near to a bound a strict inequality is still asked for.
CLEAR = 1e-6

lambdas = st.floats(0.01, 0.99)


def largest(mu, tau, kind, lam=None) -> float:
    """The factor by which the more lasting part of a mode changes in one layer."""
    return mode_factors(mu, tau, kind, lam)[..., 0].abs().item()


def apart(*pairs) -> None:
    """Leave out examples so close to a bound that rounding decides."""
    for value, bound in pairs:
        assume(abs(value - bound) > CLEAR)


def residual_of(kind, tau, lam, form="euler") -> Residual:
    residual = Residual(1, kind, tau=tau, theta_init=math.log(lam / (1 - lam)), form=form).double()
    residual.reset_parameters()  # again, in double precision
    return residual


@torch.no_grad()
def layer_map(residual, a) -> torch.Tensor:
    """The 2 x 2 matrix by which one layer of the module maps (state, memory) of a mode with eigenvalue a of A."""
    columns = []
    for state, memory in ((1.0, 0.0), (0.0, 1.0)):
        x = torch.full((1, 1), state, dtype=torch.float64)
        columns.append([part.item() for part in residual(x, a * x, memory + 0 * x)])
    return torch.tensor(columns, dtype=torch.float64).T


@given(lambdas, st.floats(-1, 5))
@pytest.mark.equation("eq-critical")
def test_a_light_wave_swings_exactly_between_the_two_critical_steps(lam, step):
    low, high = (1 - math.sqrt(lam)) ** 2, (1 + math.sqrt(lam)) ** 2
    apart((step, low), (step, high), (step, 0))
    z = mode_factors(step, 1.0, "light", lam)
    if low < step < high:
        assert (z.imag != 0).all()
        assert torch.allclose(z.abs(), torch.full((2,), math.sqrt(lam), dtype=torch.float64), atol=EXACT)
    else:
        assert torch.equal(z.imag, torch.zeros(2, dtype=torch.float64))
        assert z[0].abs() > math.sqrt(lam) > z[1].abs()
        assert (z.real > 0).all() == (step < low)


@given(lambdas, st.floats(-1, 5))
@pytest.mark.equation("eq-critical")
def test_a_light_wave_fades_exactly_below_its_bound(lam, step):
    apart((step, 0), (step, 2 * (1 + lam)))
    assert (largest(step, 1.0, "light", lam) < 1) == (0 < step < 2 * (1 + lam))


@given(lambdas)
@pytest.mark.equation("eq-critical")
def test_a_critically_damped_mode_grows_by_the_layer_number_beside_its_geometric_decay(lam):
    step = (1 - math.sqrt(lam)) ** 2
    x_prev = x = torch.ones(1, 1, dtype=torch.float64)
    for layer in range(1, 20):
        x_prev, x = x, light_step(x, x_prev, (1 - step) * x, 1.0, lam)
        # c0 + c1 l from X^0 = 1 and X^(-1) = X^0
        expected = math.sqrt(lam) ** layer * (1 + (1 - math.sqrt(lam)) * layer)
        assert x.item() == pytest.approx(expected, rel=1e-9)


@given(st.sampled_from(["light", "mix_light"]), lambdas, taus, st.floats(1e-3, 4))
@pytest.mark.equation("eq-slower")
def test_light_kinds_keep_more_of_a_mode_exactly_where_diffusion_is_below_root_lambda(kind, lam, tau, mu):
    diffusion = abs(1 - tau * mu)
    apart((diffusion, math.sqrt(lam)))
    assume(lam * tau * mu > 1e-4)  # below, both factors agree to more digits than CLEAR asks for
    assert (largest(mu, tau, kind, lam) > diffusion) == (diffusion < math.sqrt(lam))


@given(lambdas, taus, st.sampled_from([-1, 1]))
@pytest.mark.equation("eq-slower")
def test_on_the_boundary_light_and_diffusion_agree(lam, tau, sign):
    mu = (1 + sign * math.sqrt(lam)) / tau
    assert largest(mu, tau, "light", lam) == pytest.approx(abs(1 - tau * mu), abs=1e-9)


@given(lambdas, taus, st.floats(-2, -1e-3))
@pytest.mark.equation("eq-slower")
def test_of_negative_mu_a_light_wave_makes_more_grow(lam, tau, mu):
    # The criterion asks for mu > 0: here |1 - tau mu| > 1 > sqrt(lambda), yet the light wave keeps more.
    assert largest(mu, tau, "light", lam) > 1 - tau * mu > 1


@given(lambdas, st.floats(0, 1))
@pytest.mark.equation("eq-slow-modes")
def test_modes_that_do_not_swing_are_accelerated_between_two_factors(lam, share):
    step = 1e-3 * lam + share * ((1 - math.sqrt(lam)) ** 2 - 1e-3 * lam)
    assume(0 < step < (1 - math.sqrt(lam)) ** 2 - 1e-9)
    loss = 1 - largest(step, 1.0, "light", lam)
    assert step / (1 - lam) * (1 - 1e-9) < loss < step / (1 - math.sqrt(lam)) * (1 + 1e-9)


@given(lambdas)
@pytest.mark.equation("eq-slow-modes")
def test_the_slower_the_mode_the_nearer_to_the_lower_factor(lam):
    step = 1e-3 * (1 - lam) ** 2
    loss = 1 - largest(step, 1.0, "light", lam)
    assert loss == pytest.approx(step / (1 - lam), rel=3e-3)
    gentler = 1 - largest(step, 1.0, "light", lam / 2)
    assert step < gentler < loss


@given(lambdas, taus, st.complex_numbers(max_magnitude=4, allow_nan=False))
def test_no_light_wave_loses_more_of_any_mode_than_root_lambda(lam, tau, mu):
    assert largest(mu, tau, "light", lam) >= math.sqrt(lam) - EXACT


@given(lambdas, st.floats(0, 3), st.floats(-1, 1))
def test_complex_modes_fade_under_a_light_wave_exactly_within_an_ellipse(lam, real, imag):
    ellipse = ((1 + lam - real) / (1 + lam)) ** 2 + (imag / (1 - lam)) ** 2
    apart((ellipse, 1))
    assert (largest(complex(real, imag), 1.0, "light", lam) < 1) == (ellipse < 1)


@given(st.floats(1e-3, 5), taus)
def test_a_full_wave_is_a_light_wave_of_lambda_one_and_step_tau_squared(mu, tau):
    light = mode_factors(mu, tau**2, "light", 1.0)
    assert torch.allclose(light, mode_factors(mu, tau, "full"), atol=EXACT)


@given(lambdas, st.floats(0, 1))
@pytest.mark.equation("eq-damped-wave")
def test_a_light_wave_samples_a_damped_wave(lam, share):
    low, high = (1 - math.sqrt(lam)) ** 2, (1 + math.sqrt(lam)) ** 2
    step = 1e-3 + share * (high - 2e-3)
    apart((step, low), (step, high))
    assume(step < high)
    logs = mode_factors(step, 1.0, "light", lam).log()
    damping, stiffness = -math.log(lam), logs.prod().real.item()
    # X'' + damping X' = -stiffness X as a first-order system, from one layer to the next
    generator = torch.tensor([[0, 1], [-stiffness, -damping]], dtype=torch.float64)
    exact = torch.linalg.matrix_exp(generator)
    assert exact.trace().item() == pytest.approx(1 + lam - step, abs=1e-9)
    assert exact.det().item() == pytest.approx(lam, abs=1e-9)


@pytest.mark.parametrize("scale", [1e-1, 1e-2, 1e-3])
@pytest.mark.equation("eq-damped-wave")
def test_its_damping_and_stiffness_tend_to_one_minus_lambda_and_tau_mu(scale):
    lam, step = 1 - scale, 0.5 * scale**2
    logs = mode_factors(step, 1.0, "light", lam).log()
    assert -logs.sum().real.item() == pytest.approx(1 - lam, rel=scale)
    assert logs.prod().real.item() == pytest.approx(step, rel=1.5 * scale)


@given(lambdas, taus, st.floats(1e-3, 2))
@pytest.mark.equation("eq-mix-full-modulus")
def test_a_full_mix_swings_exactly_below_its_bound_at_the_modulus_of_its_damping(lam, tau, mu):
    bound = 4 * lam / (1 - lam * (1 - tau)) ** 2
    apart((mu, bound))
    z = mode_factors(mu, tau, "mix_full", lam)
    assert (z.imag != 0).all() == (mu < bound)
    if mu < bound:
        modulus = math.sqrt(1 - (1 - lam) * tau * mu)
        assert torch.allclose(z.abs(), torch.full((2,), modulus, dtype=torch.float64), atol=1e-9)


@given(lambdas, taus, st.floats(1e-3, 1))
@pytest.mark.equation("eq-mix-full-modulus")
def test_a_full_mix_keeps_more_of_every_mode_that_diffusion_does_not_flip(lam, tau, step):
    assume(lam * tau * step > 1e-5)
    assert largest(step / tau, tau, "mix_full", lam) > 1 - step


def test_a_full_mix_may_keep_less_of_a_mode_that_diffusion_flips():
    assert largest(1.9, 1.0, "mix_full", 0.5) < abs(1 - 1.9)


@given(lambdas, taus)
@pytest.mark.equation("eq-mix-full-modulus")
def test_slow_modes_lose_less_than_half_as_much_under_a_full_mix(lam, tau):
    mu = 1e-4 * lam
    loss = 1 - largest(mu, tau, "mix_full", lam)
    assert loss == pytest.approx((1 - lam) * tau * mu / 2, rel=1e-3)


@given(lambdas, st.floats(0.05, 0.95), st.floats(-1, 1), st.sampled_from(["euler", "stock"]))
@pytest.mark.equation("eq-stock-roots", "eq-roots")
def test_roots_are_those_of_the_module_in_both_forms(lam, tau, a, form):
    s = 1 / (1 - tau) if form == "stock" else 1.0
    mu = 1 - a
    diffusion = s * (1 - tau * mu)
    mixed = lam + (1 - lam) * diffusion
    sum_and_product = {
        "full": (2 - tau**2 * mu, 1),
        "light": (lam + diffusion, lam),
        "mix_full": (1 + mixed - lam * tau**2 * mu, mixed),
        "mix_light": (lam + mixed - lam * tau**2 * mu, lam),
    }
    for kind, (total, product) in sum_and_product.items():
        layer = layer_map(residual_of(kind, tau, lam, form), a)
        assert layer.trace().item() == pytest.approx(total, abs=1e-11)
        assert layer.det().item() == pytest.approx(product, abs=1e-11)
        if form == "euler":
            z = mode_factors(mu, tau, kind, lam if kind in MIXED_KINDS else None)
            assert z.sum().real.item() == pytest.approx(total, abs=1e-11)
            assert z.prod().real.item() == pytest.approx(product, abs=1e-11)


@given(lambdas, st.floats(0.05, 0.95), st.floats(0.01, 0.99))
@pytest.mark.equation("eq-stock-slower")
def test_in_the_stock_form_a_light_wave_keeps_less_of_the_modes_between_two_bounds(lam, tau, diffusion):
    residual = residual_of("light", tau, lam, "stock")
    modulus = [
        torch.linalg.eigvals(layer_map(residual, a)).abs().max().item() for a in (1.0, 1 - (1 - diffusion) / tau)
    ]
    beside_the_constant_mode, constant = modulus[1] / modulus[0], modulus[0]
    low, high = math.sqrt(lam) / constant, 1 / (constant - 1)
    apart((diffusion, low), (diffusion, high))
    assume(abs(beside_the_constant_mode - diffusion) > 1e-9)
    assert (beside_the_constant_mode < diffusion) == (low < diffusion < high)


@given(seeds, lambdas, st.floats(0.05, 0.95))
def test_rescaled_each_layer_the_stock_form_is_a_light_wave_of_less_momentum(seed, lam, tau):
    a, x, x_prev = row_stochastic(seed, 6), normal(seed + 1, 6, 1), normal(seed + 2, 6, 1)
    stock, _ = residual_of("light", tau, lam, "stock")(x, a @ x, x_prev)
    assert torch.allclose((1 - tau) * stock, light_step(x, x_prev, a @ x, tau, (1 - tau) * lam), atol=EXACT)


@given(seeds, lambdas, taus)
def test_the_published_mix_of_velocities_is_the_light_mix(seed, lam, tau):
    """V' = lam (tau D + V) + (1 - lam) D and X' = X + tau V', D = A X - X: the published code for BERT."""
    a, x = row_stochastic(seed, 6), normal(seed + 1, 6, 1)
    residual, ours, memory, velocity = residual_of("mix_light", tau, lam), x, None, torch.zeros_like(x)
    for _ in range(6):
        force = a @ x - x
        velocity = lam * (tau * force + velocity) + (1 - lam) * force
        x = x + tau * velocity
        ours, memory = residual(ours, a @ ours, memory)
        assert torch.allclose(ours, x, atol=1e-10)


@given(seeds, taus)
@pytest.mark.equation("eq-light", "eq-mix")
def test_both_ends_of_lambda_are_diffusion_and_a_wave(seed, tau):
    a, x, x_prev = row_stochastic(seed, 6), normal(seed + 1, 6, 3), normal(seed + 2, 6, 3)
    ax = a @ x
    assert torch.equal(light_step(x, x_prev, ax, tau, 0.0), diffusion_step(x, ax, tau))
    for kind, wave in (("mix_full", "full"), ("mix_light", None)):
        off, on = (Residual(3, kind, tau=tau, theta_init=theta).double() for theta in (-800.0, 800.0))
        assert torch.allclose(off(x, ax, x_prev)[0], diffusion_step(x, ax, tau), atol=EXACT)
        expected = Residual(3, wave, tau=tau)(x, ax, x_prev)[0] if wave else light_step(x, x_prev, ax, tau**2, 1.0)
        assert torch.allclose(on(x, ax, x_prev)[0], expected, atol=EXACT)
