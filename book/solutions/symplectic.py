"""Solutions of the exercises of the chapter on the symplectic wave."""

import math

import torch

from wavy.diagnostics import reversibility_defect
from wavy.dynamics import wave_step


def layers_to_double(tau=0.5, mu=1.0):
    """Layers until explicit Euler has doubled the amplitude of a mode."""
    predicted = math.ceil(2 * math.log(2) / math.log1p(tau**2 * mu))
    x, y, layers = 1.0, 0.0, 0
    while math.hypot(math.sqrt(mu) * x, y) < 2 * math.sqrt(mu):
        x, y, layers = x + tau * y, y - tau * mu * x, layers + 1
    assert layers == predicted
    return layers


def order_with_half_a_kick_back(mu=1.0, time=3.0):
    """Order of the full wave at Y = -tau/2 F(X) instead of Y = 0."""

    def error(layers):
        tau = time / layers
        x = torch.ones(1, 1, dtype=torch.float64)
        y = tau / 2 * mu * x  # minus half a kick: F(X) = -mu X
        for _ in range(layers):
            x, y = wave_step(x, y, (1 - mu) * x, tau)
        return abs(x.item() - math.cos(math.sqrt(mu) * time))

    order = math.log2(error(100) / error(200))
    assert abs(order - 2) < 0.01
    return order


def biases_keep_detailed_balance(tokens=8, channels=4, seed=0):
    """Symmetric scores, plus what the biases of queries and keys add to them."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    x, weight = normal(tokens, channels), normal(channels, channels)
    query_bias, key_bias = normal(channels), normal(channels)
    queries, keys = x @ weight + query_bias, x @ weight + key_bias
    attention = torch.softmax(queries @ keys.T / math.sqrt(channels), dim=-1)
    assert reversibility_defect(attention) < 1e-12
    other_keys = x @ normal(channels, channels) + key_bias
    ordinary = torch.softmax(queries @ other_keys.T / math.sqrt(channels), dim=-1)
    assert reversibility_defect(ordinary) > 1e-2


def attention_from_an_energy(tokens=6, channels=3, tau=0.5, seed=0):
    """A force with state-dependent attention whose wave step is symplectic."""
    generator = torch.Generator().manual_seed(seed)
    size = tokens * channels
    state = torch.randn(2 * size, generator=generator, dtype=torch.float64)

    def from_energy(x):
        a = torch.softmax(x @ x.T, dim=-1)
        return (a + a.T) @ x / 2 - x

    def ordinary(x):
        return torch.softmax(x @ x.T, dim=-1) @ x - x

    def defect(force):
        def step(pair):
            x, y = pair.view(2, tokens, channels)
            return torch.stack(wave_step(x, y, x + force(x), tau)).flatten()

        jacobian = torch.func.jacrev(step)(state)
        omega = torch.zeros_like(jacobian)
        omega[:size, size:], omega[size:, :size] = torch.eye(size), -torch.eye(size)
        return (jacobian.T @ omega @ jacobian - omega).abs().max().item()

    assert defect(from_energy) < 1e-12
    assert defect(ordinary) > 1e-2


def some_energy_is_always_conserved(tokens=6, tau=0.5, layers=100, seed=0):
    """The shadow energy in an inner product that is not positive."""
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(tokens, tokens, generator=generator, dtype=torch.float64)
    attention = torch.softmax(2 * scores, dim=-1)
    inverse = torch.linalg.inv(torch.linalg.eig(attention).eigenvectors)
    g = (inverse.T @ inverse).real
    assert torch.allclose(g @ attention, (g @ attention).T)
    assert (torch.linalg.eigvalsh(g) < 0).any()

    def energy(x, y):
        lx = x - attention @ x
        return 0.5 * (y.T @ g @ y + x.T @ g @ lx - tau * y.T @ g @ lx)

    x = torch.randn(tokens, 1, generator=generator, dtype=torch.float64)
    y = torch.zeros_like(x)
    start, sizes = energy(x, y), []
    for _ in range(layers):
        x, y = wave_step(x, y, attention @ x, tau)
        sizes.append((x.norm() ** 2 + y.norm() ** 2).item())
        assert abs(energy(x, y) - start) < 1e-10 * sizes[-1]
    assert max(sizes[-20:]) > max(sizes[:20])
