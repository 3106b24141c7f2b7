"""Measures from eigenvalues on collapsed attention, where whole groups of tokens have become equal."""

from __future__ import annotations

import pytest
import torch

from wavy.diagnostics import spectral_gap, wave_growth
from wavy.dynamics import mode_factors

EXACT = 1e-10


def collapsed(n, groups, seed):
    """Attention of n tokens that are equal within each group, and the matrix of the weights between groups."""
    x = torch.randn(groups, 4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    group = torch.arange(n) % groups
    a = (x[group] @ x[group].T).softmax(dim=-1)
    return a, a[:groups, :groups] * torch.bincount(group)


def single(n):
    """The attention on which torch's solver was found to fail, rounded to float32 first."""
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))[torch.arange(n) % 3]
    return (x @ x.T).softmax(dim=-1)


@pytest.mark.parametrize("n", [8, 16, 32, 64])
@pytest.mark.parametrize("groups", [2, 3, 5])
def test_equal_tokens_add_no_eigenvalue_but_zero(n, groups):
    for seed in range(10):
        a, between = collapsed(n, groups, seed)
        values = torch.linalg.eigvals(between)
        values = torch.cat([values[values.abs().argsort()][:-1], torch.zeros(1)])
        assert spectral_gap(a).item() == pytest.approx(1 - values.abs().max().item(), abs=EXACT)
        expected = mode_factors(1 - values, 0.7, "full").abs().max().item()
        assert wave_growth(a, 0.7).item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("n", [8, 16, 32, 64])
def test_attention_that_is_the_same_for_all_has_gap_one(n):
    weights = torch.rand(n, generator=torch.Generator().manual_seed(n), dtype=torch.float64)
    for row in (torch.ones(n, dtype=torch.float64), weights):
        a = (row / row.sum()).expand(n, n)
        assert spectral_gap(a).item() == pytest.approx(1, abs=EXACT)
    blocks = torch.block_diag(*[torch.full((n // 2, n // 2), 2 / n, dtype=torch.float64)] * 2)
    assert spectral_gap(blocks).item() == pytest.approx(0, abs=EXACT)


@pytest.mark.parametrize("n", range(8, 65, 8))
def test_the_solver_ends_on_rounded_collapsed_attention(n):
    a = single(n)
    gaps = [spectral_gap(each).item() for each in (a, a.double())]
    assert gaps[0] == pytest.approx(gaps[1], abs=1e-5)
    assert wave_growth(a.double(), 0.5).item() == pytest.approx(1, abs=1e-6)


def test_shape_and_type_are_those_of_the_attention():
    a = torch.rand(2, 3, 7, 7, requires_grad=True).softmax(dim=-1)
    assert (spectral_gap(a).shape, spectral_gap(a).dtype) == ((2, 3), torch.float32)
    assert spectral_gap(a.double()).dtype == torch.float64
    assert spectral_gap(a[:0]).shape == (0, 3)


@pytest.mark.parametrize("n", [2, 9, 64])
def test_causal_attention_has_its_diagonal_as_eigenvalues(n):
    # A general solver is off by a hundredth here: the modes are nearly parallel.
    scores = torch.randn(3, n, n, generator=torch.Generator().manual_seed(n))
    a = scores.masked_fill(torch.ones(n, n).triu(1).bool(), -torch.inf).softmax(dim=-1)
    assert torch.equal(spectral_gap(a), 1 - a.diagonal(dim1=1, dim2=2)[:, 1:].amax(dim=1))
    assert (wave_growth(a.double(), 0.5) - 1).abs().max() < EXACT
    assert spectral_gap(torch.eye(n)).item() == 0
