"""Solutions of the exercises on language models."""

import math

import torch

from wavy.data.text.unigram import unigram_perplexity
from wavy.experiments.bert import BertStudy
from wavy.experiments.language_cost import forward_products


def unigrams_elsewhere() -> tuple[float, float]:
    """Perplexity of unigrams on their own text and on another, with ten tokens."""
    own = torch.tensor([0] * 90 + [1] * 10)
    other = torch.tensor([2] * 50 + [3] * 50)
    here, there = (unigram_perplexity(own, text, 10) for text in (own, other))
    assert here < 10 < there
    return here, there


def selection_on_noise(runs: int = 20_000) -> tuple[float, float]:
    """Mean lead of the wider spread under both rules, three epochs each."""
    generator = torch.Generator().manual_seed(0)
    narrow, wide = torch.randn(2, runs, 3, generator=generator, dtype=torch.float64)
    wide = 2 * wide
    best = (wide.amax(dim=1) - narrow.amax(dim=1)).mean().item()
    worst = (wide.amin(dim=1) - narrow.amin(dim=1)).mean().item()
    expected = 3 / (2 * math.sqrt(math.pi))
    assert abs(best - expected) < 0.05
    assert abs(worst + expected) < 0.05
    return best, worst


def share_of_the_velocity() -> tuple[float, float]:
    """Products of the full wave to those of diffusion: published BERT, and a limit."""
    runs = {run.residual: run for run in BertStudy(scale="paper", seeds=(0,)).runs()}
    sides = runs["diffusion"], runs["full"]
    change = {"depth": 256, "length": 5, "vocab_size": 1}
    changed = [run.model_copy(update=change) for run in sides]
    ratio = forward_products(sides[1]) / forward_products(sides[0])
    limit = forward_products(changed[1]) / forward_products(changed[0])
    assert 1 < ratio < limit < 5 / 3
    assert limit > 1.65
    return ratio, limit
