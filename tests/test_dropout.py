"""Dropout's mask: its rate, its mean, one for state and velocity, and the same whoever differentiates."""

from __future__ import annotations

import pytest
import torch

from wavy.layers import JointDropout

precisions = pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])


def dropped(p, x, velocity=None, seed=0):
    torch.manual_seed(seed)
    return JointDropout(p).train()(x, velocity)


@pytest.mark.parametrize("p", [0.01, 0.2, 0.5, 0.9])
def test_entries_are_dropped_at_the_rate_and_independently(p):
    count = 1_000_000
    gone = (dropped(p, torch.ones(count))[0] == 0).double()
    deviation = (p * (1 - p) / count) ** 0.5
    assert abs(gone.mean() - p) < 5 * deviation
    for lag in (1, 2, 3, 4, 64):  # neighbours, also those that share their random bits
        both = (gone[lag:] * gone[:-lag]).mean()
        assert abs(both - p**2) < 8 * deviation


@precisions
def test_the_mean_is_kept_exactly_for_the_nearest_rate(dtype):
    p = 0.3
    rate = round(p * 2**16) / 2**16
    found = dropped(p, torch.ones(1000, dtype=dtype))[0].unique()
    assert torch.equal(found, torch.tensor([0, 1 / (1 - rate)], dtype=dtype))


@pytest.mark.parametrize("p", [1e-9, 1 - 1e-9])
def test_rates_near_the_ends_neither_drop_nothing_nor_everything(p):
    x = dropped(p, torch.ones(1_000_000))[0]
    assert torch.isfinite(x).all()
    assert 0 < (x == 0).double().mean() < 1


@precisions
@pytest.mark.parametrize("shape", [(), (0, 3), (7,), (2, 3, 5)])
def test_any_shape_and_type_keeps_its_own(shape, dtype):
    x, velocity = torch.ones(shape, dtype=dtype), torch.full(shape, 2.0, dtype=dtype)
    found, along = dropped(0.5, x, velocity)
    assert (found.shape, found.dtype) == (x.shape, dtype)
    assert torch.equal(along, 2 * found)
    assert torch.equal(found, dropped(0.5, x)[0])


def test_a_seed_gives_one_mask_and_another_seed_another():
    x = torch.ones(100)
    assert torch.equal(dropped(0.5, x)[0], dropped(0.5, x)[0])
    assert not torch.equal(dropped(0.5, x)[0], dropped(0.5, x, seed=1)[0])
    drop = JointDropout(0.5).train()
    assert not torch.equal(drop(x)[0], drop(x)[0])


def test_transforms_see_the_mask_of_the_seed():
    x = torch.ones(50)
    expected = dropped(0.5, x)[0]
    assert torch.equal(torch.func.jvp(lambda v: dropped(0.5, v)[0], (x,), (x,))[1], expected)
    assert torch.equal(torch.func.grad(lambda v: dropped(0.5, v)[0].sum())(x), expected)


@pytest.mark.parametrize("randomness", ["same", "different"])
def test_vmap_chooses_whether_masks_differ(randomness):
    drop = JointDropout(0.5).train()
    first, second = torch.vmap(lambda v: drop(v)[0], randomness=randomness)(torch.ones(2, 100))
    assert torch.equal(first, second) == (randomness == "same")


def test_a_default_device_does_not_move_the_mask():
    x = torch.ones(100)
    with torch.device("meta"):
        found = dropped(0.5, x)[0]
    assert torch.equal(found, dropped(0.5, x)[0])
