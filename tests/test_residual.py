"""The residual connection: the five kinds, two forms, the memory, and clear refusals."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from systems import normal, seeds
from wavy.dynamics import KINDS, MIXED_KINDS, diffusion_step, light_step, mix, wave_step
from wavy.residual import FORMS, Residual

shapes = st.tuples(st.integers(1, 3), st.integers(1, 5), st.integers(1, 6))
open_taus = st.floats(0.01, 0.99)


def theta_set(residual, seed):
    if residual.theta is not None:
        with torch.no_grad():
            residual.theta.copy_(normal(seed, residual.dim))
    return residual.double()


@pytest.mark.equation("eq-stock")
@given(seeds, shapes)
def test_stock_diffusion_at_one_half_is_the_host_residual_bit_for_bit(seed, shape):
    x, ax = normal(seed, *shape).float(), normal(seed + 1, *shape).float()
    out, memory = Residual(shape[-1], "diffusion", tau=0.5, form="stock")(x, ax)
    assert torch.equal(out, x + ax)
    assert memory is None


@pytest.mark.equation("eq-diffusion", "eq-stock")
@given(seeds, shapes, open_taus)
def test_stock_is_euler_divided_by_one_minus_tau(seed, shape, tau):
    x, ax = normal(seed, *shape), normal(seed + 1, *shape)
    stock, _ = Residual(shape[-1], "diffusion", tau=tau, form="stock")(x, ax)
    assert torch.allclose(stock * (1 - tau), diffusion_step(x, ax, tau))


@pytest.mark.equation("eq-diffusion", "eq-stock", "eq-wave", "eq-wave-momentum", "eq-light", "eq-mix")
@given(seeds, shapes, open_taus, st.sampled_from(FORMS))
def test_every_kind_is_its_equation_over_two_layers(seed, shape, tau, form):
    x0, ax0, ax1 = (normal(seed + i, *shape) for i in range(3))
    scale = 1 if form == "euler" else 1 / (1 - tau)
    for kind in KINDS:
        residual = theta_set(Residual(shape[-1], kind, tau=tau, form=form), seed)
        lam = torch.sigmoid(residual.theta) if kind in MIXED_KINDS else None
        x1, memory = residual(x0, ax0)
        x2, _ = residual(x1, ax1, memory)

        w1, y1 = wave_step(x0, torch.zeros_like(x0), ax0, tau)
        w2, _ = wave_step(x1, y1, ax1, tau)
        d1, d2 = scale * diffusion_step(x0, ax0, tau), scale * diffusion_step(x1, ax1, tau)
        momentum = x1 + tau**2 * (ax1 - x1) + (x1 - x0)
        expected = {
            "diffusion": (d1, d2),
            "full": (w1, w2),
            "light": (d1, d2 + (0 if lam is None else lam) * (x1 - x0)),
            "mix_full": (w1, w2) if lam is None else (mix(w1, d1, lam), mix(w2, d2, lam)),
            "mix_light": (w1, w2) if lam is None else (mix(w1, d1, lam), mix(momentum, d2, lam)),
        }[kind]
        assert torch.allclose(x1, expected[0])
        assert torch.allclose(x2, expected[1])
    if form == "euler":
        assert torch.allclose(light_step(x1, x0, ax1, tau, 0.3), diffusion_step(x1, ax1, tau) + 0.3 * (x1 - x0))


@given(seeds, shapes, st.sampled_from(MIXED_KINDS), st.sampled_from(FORMS), st.sampled_from([0.0, 0.25, 0.9, 1.0]))
def test_a_fixed_lambda_is_that_of_its_theta_and_is_not_trained(seed, shape, kind, form, lam):
    x, ax, memory = (normal(seed + i, *shape) for i in range(3))
    fixed = Residual(shape[-1], kind, form=form, lam=lam)
    trained = Residual(shape[-1], kind, form=form).double()
    torch.nn.init.constant_(trained.theta, float(torch.logit(torch.tensor(lam, dtype=torch.float64)).clamp(-50, 50)))
    assert not list(fixed.parameters())
    for own, other in zip(fixed(x, ax, memory), trained(x, ax, memory), strict=True):
        assert torch.allclose(own, other)


@given(seeds, shapes, st.sampled_from(FORMS))
def test_a_fixed_lambda_reaches_both_ends(seed, shape, form):
    x, ax, memory = (normal(seed + i, *shape) for i in range(3))
    for kind in MIXED_KINDS:
        out, _ = Residual(shape[-1], kind, form=form, lam=0)(x, ax, memory)
        assert torch.allclose(out, Residual(shape[-1], "diffusion", form=form)(x, ax)[0])
    out, _ = Residual(shape[-1], "mix_full", form=form, lam=1)(x, ax, memory)
    assert torch.allclose(out, Residual(shape[-1], "full", form=form)(x, ax, memory)[0])


@given(seeds, shapes, st.sampled_from(MIXED_KINDS), st.sampled_from(FORMS))
def test_very_negative_theta_is_diffusion_to_rounding(seed, shape, kind, form):
    x, ax, memory = (normal(seed + i, *shape) for i in range(3))
    out, _ = Residual(shape[-1], kind, theta_init=-60, form=form).double()(x, ax, memory)
    plain, _ = Residual(shape[-1], "diffusion", form=form)(x, ax)
    assert torch.allclose(out, plain, atol=1e-14, rtol=1e-14)


def test_only_mixed_kinds_have_a_parameter():
    for kind in KINDS:
        names = [name for name, _ in Residual(4, kind).named_parameters()]
        assert names == (["theta"] if kind in MIXED_KINDS else [])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_half_precision_state_stays_one_beside_parameters_in_single_precision(kind, dtype):
    x, ax, memory = (normal(i, 2, 3, 4).to(dtype) for i in range(3))
    out, memory = Residual(4, kind)(x, ax, memory)
    assert out.dtype == dtype
    assert memory is None or memory.dtype == dtype


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", FORMS)
def test_a_memory_in_another_precision_is_taken_as_it_is(kind, form):
    x, ax, memory = (normal(i, 2, 3, 4) for i in range(3))
    residual = Residual(4, kind, form=form)
    expected, _ = residual(x.float(), ax.float(), memory.float())
    for types in ((torch.float32, torch.bfloat16), (torch.bfloat16, torch.float32)):
        out, _ = residual(x.to(types[0]), ax.to(types[0]), memory.to(types[1]))
        assert torch.allclose(out.float(), expected, atol=0.05)


@pytest.mark.parametrize("kind", KINDS)
def test_compiles_to_one_graph_and_exports(kind):
    residual = Residual(4, kind)
    x, ax, memory = (normal(i, 2, 3, 4).float() for i in range(3))
    expected = residual(x, ax, memory)[0]
    compiled = torch.compile(residual, fullgraph=True, backend="eager")
    assert torch.allclose(compiled(x, ax, memory)[0], expected)
    exported = torch.export.export(residual, (x, ax, memory)).module()
    assert torch.allclose(exported(x, ax, memory)[0], expected)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "wave"}, "kind: found 'wave', allowed diffusion, full, light, mix_full, mix_light"),
        ({"form": "explicit"}, "form: found 'explicit', allowed euler, stock"),
        ({"tau": 0}, "tau: found 0, allowed 0 < tau <= 1"),
        ({"tau": 1.5}, "tau: found 1.5"),
        ({"tau": float("nan")}, "tau: found nan"),
        ({"tau": "0.5"}, "tau: found '0.5'"),
        ({"tau": 1.0, "form": "stock"}, "tau: found 1.0, allowed 0 < tau < 1"),
        ({"dim": 0}, "dim: found 0, allowed a whole number >= 1"),
        ({"dim": 2.5}, "dim: found 2.5"),
        ({"theta_init": float("inf")}, "theta_init: found inf"),
        ({"lam": 1.5}, "lam: found 1.5, allowed None or 0 <= lam <= 1"),
        ({"lam": float("nan")}, "lam: found nan"),
        ({"kind": "full", "lam": 0.5}, "lam: found 0.5, but kind 'full' has no lambda; allowed None"),
    ],
)
def test_refuses_in_one_line(arguments, message):
    with pytest.raises(ValueError, match=message) as caught:
        Residual(**{"dim": 4, "kind": "light"} | arguments)
    assert "\n" not in str(caught.value)


def test_numbers_of_numpy_are_numbers():
    residual = Residual(np.int64(4), "light", tau=np.float32(0.5), theta_init=np.float64(-2))
    assert (residual.dim, residual.tau, residual.theta_init) == (4, 0.5, -2)


def test_refuses_shapes_that_do_not_match():
    residual, x = Residual(4, "light"), torch.zeros(2, 3, 4)
    with pytest.raises(ValueError, match="x: found 5 channels"):
        residual(torch.zeros(2, 3, 5), x)
    with pytest.raises(ValueError, match=r"ax: found shape \(2, 1, 4\)"):
        residual(x, torch.zeros(2, 1, 4))
    with pytest.raises(ValueError, match="memory: found shape"):
        residual(x, x, torch.zeros(3, 4))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("theta", [-4.0, -6.0, -8.0])
def test_a_small_lambda_is_not_lost_in_half_precision(dtype, form, theta):
    residual = Residual(1, "light", theta_init=theta, form=form).to(dtype)
    x = torch.zeros(1, 1, dtype=dtype)
    out, _ = residual(x, x, torch.full_like(x, -1.0))
    assert out.item() == pytest.approx(torch.sigmoid(torch.tensor(theta)).item(), rel=0.02)
