"""LayerScale's gamma makes attention a lazy one, A_gamma = I + gamma (A - I)."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from systems import normal, row_stochastic, seeds
from wavy.dynamics import KINDS, diffusion_step
from wavy.residual import FORMS, Residual

shapes = st.tuples(st.integers(1, 3), st.integers(1, 5), st.integers(1, 6))


@given(seeds, shapes, st.sampled_from(KINDS), st.sampled_from(FORMS))
def test_at_gamma_zero_every_kind_starts_as_the_identity(seed, shape, kind, form):
    x, ax = normal(seed, *shape), normal(seed + 1, *shape)
    out, memory = Residual(shape[-1], kind, form=form).double()(x, ax, scale=x.new_zeros(shape[-1]))
    assert torch.allclose(out, x, atol=1e-14)
    if kind in ("full", "mix_full"):
        assert torch.equal(memory, torch.zeros_like(x))


@pytest.mark.equation("eq-lazy")
@given(seeds, shapes, st.sampled_from(KINDS))
def test_in_the_form_euler_gamma_is_another_attention(seed, shape, kind):
    x, ax, memory, gamma = (normal(seed + i, *shape) for i in range(4))
    memory = None if kind == "diffusion" else memory
    residual = Residual(shape[-1], kind, tau=0.3).double()
    found = residual(x, ax, memory, scale=gamma)
    expected = residual(x, x + gamma * (ax - x), memory)
    assert torch.allclose(found[0], expected[0])
    assert memory is None or torch.allclose(found[1], expected[1])


@pytest.mark.equation("eq-lazy")
@given(seeds, st.integers(2, 6), st.floats(0, 1))
def test_lazy_attention_is_row_stochastic_and_scales_the_laplacian(seed, n, gamma):
    a, eye = row_stochastic(seed, n), torch.eye(n, dtype=torch.float64)
    # One token a channel: with X = I the product A X is A itself.
    lazy = (Residual(n, "diffusion", tau=0.5)(eye, a, scale=torch.tensor(gamma))[0] - 0.5 * eye) / 0.5
    assert torch.allclose(lazy.sum(dim=-1), torch.ones(n, dtype=torch.float64))
    assert torch.allclose(eye - lazy, gamma * (eye - a), atol=1e-14)


@given(seeds, shapes, st.floats(0.05, 0.95))
def test_in_the_form_stock_diffusion_is_the_host_with_layer_scale(seed, shape, tau):
    x, ax, gamma = (normal(seed + i, *shape) for i in range(3))
    out, _ = Residual(shape[-1], "diffusion", tau=0.5, form="stock")(x, ax, scale=gamma)
    assert torch.equal(out, x + ax * gamma)
    out, _ = Residual(shape[-1], "diffusion", tau=tau, form="stock")(x, ax, scale=gamma)
    assert torch.allclose(out * (1 - tau), diffusion_step(x, gamma * ax, tau))


@given(seeds, shapes, st.sampled_from(KINDS), st.sampled_from(FORMS))
def test_gamma_one_changes_nothing(seed, shape, kind, form):
    x, ax, memory = (normal(seed + i, *shape) for i in range(3))
    memory = None if kind == "diffusion" else memory
    residual = Residual(shape[-1], kind, form=form).double()
    assert torch.allclose(residual(x, ax, memory, scale=x.new_ones(shape[-1]))[0], residual(x, ax, memory)[0])


@pytest.mark.parametrize("kind", KINDS)
def test_refuses_a_scale_that_does_not_fit(kind):
    x = torch.zeros(2, 3, 4)
    for wrong in (torch.ones(3), torch.ones(5, 2, 3, 4)):
        with pytest.raises(ValueError, match=r"scale: found shape .*, allowed one that broadcasts to \(2, 3, 4\)"):
            Residual(4, kind)(x, x, scale=wrong)
