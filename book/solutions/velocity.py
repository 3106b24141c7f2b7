"""Solutions of the exercises on velocity LayerNorm and FFN."""

import math

import torch
import torch.nn.functional as F

from wavy.layers import JointLayerNorm


def one_kernel():
    """GELU's kernel for gradients is also its forward-mode derivative."""
    torch.manual_seed(0)
    h, dh = torch.randn(2, 100, dtype=torch.float64)
    product = torch.ops.aten.gelu_backward(dh, h)
    forward = torch.func.jvp(F.gelu, (h,), (dh,))[1]
    gradient = torch.func.vjp(F.gelu, h)[1](dh)[0]
    assert torch.allclose(product, forward, rtol=0, atol=1e-14)
    assert torch.allclose(product, gradient, rtol=0, atol=1e-14)


def blind_directions():
    """What LN does not see, its derivative maps to nearly nothing; LN_v does not."""
    torch.manual_seed(0)
    x = torch.randn(10, 16, dtype=torch.float64)
    short = JointLayerNorm(16).double()
    exact = JointLayerNorm(16, exact=True).double()
    longer = x - x.mean(dim=-1, keepdim=True)
    with torch.no_grad():
        for y in (torch.ones_like(x), longer):
            assert exact(x, y)[1].abs().max() < 1e-4
            assert short(x, y)[1].abs().max() > 0.5
        state, velocity = JointLayerNorm(16, eps=1e-30).double()(x, longer)
        assert torch.allclose(velocity, state)


def random_velocity():
    """For a velocity without any preference LN_v errs by about sqrt(2 / d)."""
    torch.manual_seed(0)
    found = {}
    for d in (8, 32, 128, 512):
        x, y = torch.randn(2, 5000, d, dtype=torch.float64)
        with torch.no_grad():
            short = JointLayerNorm(d).double()(x, y)[1]
            exact = JointLayerNorm(d, exact=True).double()(x, y)[1]
        share = 1 - (exact.norm(dim=-1) / short.norm(dim=-1)) ** 2
        found[d] = ((short - exact).norm() / exact.norm()).item()
        assert math.isclose(share.mean().item(), 2 / d, rel_tol=0.05)
        assert math.isclose(found[d], math.sqrt(2 / (d - 2)), rel_tol=0.03)
    return found


def rms_norm():
    """RMSNorm leaves one part of the velocity out, and no mean."""
    torch.manual_seed(0)
    d, eps = 16, 1e-6
    x, y = torch.randn(2, 10, d, dtype=torch.float64)
    gamma = torch.randn(d, dtype=torch.float64)

    def norm(s):
        return gamma * s * torch.rsqrt(s.square().mean(dim=-1, keepdim=True) + eps)

    r = torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + eps)
    x_hat = r * x
    exact = gamma * r * (y - x_hat * (x_hat * y).mean(dim=-1, keepdim=True))
    assert torch.allclose(norm(x), F.rms_norm(x, (d,), gamma, eps))
    assert torch.allclose(exact, torch.func.jvp(norm, (x,), (y,))[1])
    ones = torch.ones_like(x)
    tangent = torch.func.jvp(norm, (x,), (ones,))[1]
    assert tangent.norm() > 0.5 * (gamma * r * ones).norm()


def two_masks():
    """Two masks of rate p make a relative error of sqrt(2 p)."""
    torch.manual_seed(0)
    found = {}
    for p in (0.1, 0.3, 0.5):
        v = torch.randn(1_000_000, dtype=torch.float64)
        first, second = F.dropout(v, p), F.dropout(v, p)
        found[p] = ((first - second).norm() / first.norm()).item()
        assert math.isclose(found[p], math.sqrt(2 * p), rel_tol=0.01)
    return found
