"""Solutions of the chapter on vision transformers."""

import torch
from torch.nn.functional import layer_norm

from wavy.diagnostics import class_variances, mean_cosine, node_variance


def steps_until_half(theta: float = -8.0, rate: float = 1e-3) -> float:
    """Steps that Adam needs at least until lambda is one half."""
    steps = -theta / rate
    assert torch.sigmoid(torch.tensor(theta + rate * steps)) == 0.5
    return steps


def variance_after_the_norm(tokens: int = 17, dim: int = 64) -> float:
    """After LayerNorm without gain and bias, node variance and cosine say the same."""
    x = torch.randn(tokens, dim, dtype=torch.float64) + torch.randn(dim)
    x = layer_norm(x, (dim,), eps=0.0)
    told = (1 - mean_cosine(x)) * (tokens - 1) / tokens
    assert torch.allclose(node_variance(x), told)
    return told.item()


def classes_of_noise(classes: int = 10, images: int = 20) -> float:
    """The share between classes of pure noise: it is not zero."""
    torch.manual_seed(0)
    x = torch.randn(classes * images, 2000, dtype=torch.float64)
    labels = torch.arange(classes).repeat(images)
    between, within = class_variances(x, labels)
    expected = (classes - 1) / (classes * images)
    assert abs(between - expected) < 0.02 * expected
    return (between / (between + within)).item()
