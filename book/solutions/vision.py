"""Solutions of the chapter on vision transformers."""

import torch

from wavy.diagnostics import class_variances, dirichlet_energy
from wavy.hosts.scales import FeatScale


def steps_until_half(theta: float = -8.0, rate: float = 1e-3) -> float:
    """Steps that Adam needs at least until lambda is one half."""
    steps = -theta / rate
    assert torch.sigmoid(torch.tensor(theta + rate * steps)) == 0.5
    return steps


def nothing_to_scale(tokens: int = 17, dim: int = 8) -> float:
    """Behind uniform attention FeatScale finds no differences, whatever its factors."""
    x = torch.randn(1, tokens, dim)
    scale = FeatScale(dim)
    torch.nn.init.constant_(scale.lamb2, 100.0)
    uniform = x.mean(dim=1, keepdim=True).expand_as(x)
    left = dirichlet_energy(scale(uniform)).item()
    # The residual connection keeps them: with form stock they are those of x.
    kept = dirichlet_energy(x + scale(uniform)) / dirichlet_energy(x)
    assert left < 1e-6
    assert abs(kept - 1) < 1e-4
    return left


def classes_of_noise(classes: int = 10, images: int = 20) -> float:
    """The share between classes of pure noise: it is not zero."""
    torch.manual_seed(0)
    x = torch.randn(classes * images, 2000, dtype=torch.float64)
    labels = torch.arange(classes).repeat(images)
    between, within = class_variances(x, labels)
    expected = (classes - 1) / (classes * images)
    assert abs(between - expected) < 0.02 * expected
    return (between / (between + within)).item()
