"""The signal ratio: against dense eigenvectors, against layers that are really applied, and its limits."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

from systems import generator, normal, seeds, symmetric, taus
from wavy.diagnostics.signal import (
    dominant_mode,
    normed_momentum_factors,
    one_hot_signal,
    signal_ratio,
    signal_spectrum,
    start_ratio,
)
from wavy.dynamics import KINDS, MIXED_KINDS, mode_factors
from wavy.hosts.propagation import Propagation
from wavy.residual import Residual
from wavy.training.signal import operator_spectrum

depths = st.integers(1, 30)


def lam_of(kind, lam):
    return lam if kind in MIXED_KINDS else None


def spectrum_of(matrix, signal):
    return signal_spectrum(lambda x: matrix @ x, signal, dominant_mode(lambda x: matrix @ x, len(matrix)))


@pytest.mark.equation("eq-signal-ratio")
@given(seeds, depths, taus, st.sampled_from(KINDS), st.floats(0, 1))
def test_it_is_the_sum_over_the_eigenvectors(seed, depth, tau, kind, lam):
    matrix, signal = symmetric(seed, 12), normal(seed + 1, 12, 3)
    values, vectors = torch.linalg.eigh(matrix)
    share = (vectors[:, :-1].T @ signal).square().sum(dim=1)
    factors = mode_factors(1 - values, tau, kind, lam_of(kind, lam))[:, 0].abs()
    expected = (share / share.sum() * (factors[:-1] / factors[-1]) ** (2 * depth)).sum().sqrt()
    found = signal_ratio(spectrum_of(matrix, signal), depth, tau, kind, lam_of(kind, lam), layer_norm=False)
    assert found == pytest.approx(expected.item(), rel=1e-6)


@given(seeds, st.integers(1, 8), taus)
def test_it_is_what_diffusion_leaves_beside_the_dominant_mode(seed, depth, tau):
    matrix, signal = symmetric(seed, 10), normal(seed + 1, 10, 2)
    _, vector = dominant_mode(lambda x: matrix @ x, 10)
    beside = signal - vector.unsqueeze(1) * (vector @ signal)
    x, residual = torch.cat([beside, vector.unsqueeze(1)], dim=1), Residual(3, "diffusion", tau=tau)
    for _ in range(depth):
        x, _ = residual(x, matrix @ x)
    left = (x[:, :2].norm() / beside.norm()) / x[:, 2].norm()
    assert signal_ratio(spectrum_of(matrix, signal), depth, tau, "diffusion") == pytest.approx(left.item(), rel=1e-6)


@pytest.mark.equation("eq-normed-momentum")
@given(seeds, taus, st.sampled_from(["light", "mix_light"]), st.floats(0, 0.95))
def test_momentum_beside_a_dominant_mode_of_fixed_size(seed, tau, kind, lam):
    # The operator doubles the dominant mode; after each layer the state is divided by the size of that mode.
    values = torch.cat(
        [torch.tensor([2.0], dtype=torch.float64), 1.8 * torch.rand(3, generator=generator(seed)).double() - 0.9]
    )
    residual = Residual(1, kind, tau=tau, lam=lam)
    x = torch.tensor([[1.0], [1e-6], [1e-6], [1e-6]], dtype=torch.float64)
    memory, sizes = None, []
    for _ in range(200):
        x, memory = residual(x, values.unsqueeze(1) * x, memory)
        x = x / x[0]
        sizes.append(x[1:, 0].abs())
    step = tau if kind == "light" else lam * tau**2 + (1 - lam) * tau
    factors = normed_momentum_factors(1 - values[1:], -1.0, step, lam)
    # The largest of many layers, since a pair of complex factors swings.
    first, last = (torch.stack(sizes[a:b]).amax(dim=0) for a, b in ((20, 60), (140, 180)))
    seen = last > 1e-280
    assert torch.allclose((last / first)[seen].log() / 120, factors[seen].log(), atol=0.05)


@given(seeds)
def test_the_spectral_measure_has_the_signals_moments(seed):
    matrix, signal = symmetric(seed, 40), normal(seed + 1, 40, 3)
    value, vector = dominant_mode(lambda x: matrix @ x, 40)
    beside = signal - vector.unsqueeze(1) * (vector @ signal)
    spectrum = signal_spectrum(lambda x: matrix @ x, signal, (value, vector), steps=5)
    assert spectrum.weights.sum().item() == pytest.approx(1)
    image = beside
    for power in range(1, 10):
        image = matrix @ image
        moment = (spectrum.weights * spectrum.values**power).sum()
        assert torch.allclose(moment, (beside * image).sum() / beside.square().sum(), atol=1e-10)


def test_few_modes_end_the_search_early():
    # Two eigenvalues beside the dominant one: Lanczos has nothing left after two of its steps.
    matrix = torch.diag(torch.tensor([2.0, 1.0, 1.0, 0.5, 0.5], dtype=torch.float64))
    spectrum = spectrum_of(matrix, torch.ones(5, 1, dtype=torch.float64))
    expected = (0.5 + 0.5 * 0.5**2) ** 0.5 / 2
    assert signal_ratio(spectrum, 1, 1.0, "diffusion") == pytest.approx(expected)


def graph(seed=0, nodes=30):
    generator = torch.Generator().manual_seed(seed)
    edges = torch.randint(nodes, (2, 60), generator=generator)
    ring = torch.stack([torch.arange(nodes), torch.arange(nodes).roll(1)])
    loops = torch.arange(nodes).repeat(2, 1)
    edges = torch.cat([to_undirected(torch.cat([edges, ring], dim=1)), loops], dim=1).unique(dim=1)
    return Data(edge_index=edges, num_nodes=nodes, y=torch.randint(3, (nodes,), generator=generator))


@pytest.mark.parametrize(("operator", "weight"), [("published", None), ("published", 0.3), ("row_stochastic", None)])
def test_the_spectrum_of_an_operator_is_that_of_its_matrix(operator, weight):
    data = graph()
    norm = "sym" if operator == "published" else "row"
    dense = Propagation(data.edge_index, 30, None, norm, torch.float64)(torch.eye(30, dtype=torch.float64))
    uniform = torch.full((30, 30), 1 / 30, dtype=torch.float64)
    attention, share = {None: (1, 1), 0.3: (0.7, 0.3)}[weight] if operator == "published" else (0.5, 0.5)
    matrix = attention * uniform + share * dense
    spectrum, vector = operator_spectrum(data, operator, weight)
    assert torch.allclose(matrix @ vector, spectrum.dominant * vector)
    # What is left of the classes beside the dominant mode, really multiplied, against the spectrum's moment.
    tau, depth = 0.4, 3
    if operator == "published":
        x = one_hot_signal(data.y)
        x = x - vector.unsqueeze(1) * (vector @ x)
        size = torch.linalg.vector_norm
    else:
        degree = torch.bincount(data.edge_index[1], minlength=30).double()
        weights = degree / degree.sum()
        x = one_hot_signal(data.y) - weights @ one_hot_signal(data.y)

        def size(state):  # beside constants, in the inner product in which D^-1 A is symmetric
            return ((state - weights @ state).square() * weights.unsqueeze(1)).sum().sqrt()

    start = size(x)
    for _ in range(depth):
        x = x + tau * (matrix @ x - x)
    dominant = abs(1 - tau * (1 - spectrum.dominant)) ** depth
    expected = (size(x) / start / dominant).item()
    assert signal_ratio(spectrum, depth, tau, "diffusion") == pytest.approx(expected, rel=1e-8)


def test_start_ratio_is_what_stands_beside_the_dominant_mode():
    vector = torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64)
    assert start_ratio(torch.tensor([[2.0], [3.0], [0.0]]), vector) == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("signal", "message"),
    [
        (torch.ones(3, 1), r"signal: found shape \(3, 1\), allowed \(4, C\)"),
        (torch.tensor([[1.0], [0], [0], [0]]), "signal: found nothing beside the dominant mode"),
    ],
)
def test_refuses_signals_without_meaning(signal, message):
    matrix = torch.diag(torch.tensor([2.0, 1.0, 0.5, 0.1], dtype=torch.float64))
    with pytest.raises(ValueError, match=message):
        spectrum_of(matrix, signal)
