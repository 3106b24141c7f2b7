"""Solutions of the exercises on decoders."""

import torch

from wavy.dynamics import KINDS
from wavy.hosts.gpt2 import WavyGPT2Config, WavyGPT2LMHeadModel


def context_of_predictions(length: int = 64) -> tuple[float, float]:
    """Tokens read by the average prediction, in blocks of a length and of twice it."""
    reads = [list(range(1, size)) for size in (length, 2 * length)]
    short, long = (sum(counts) / len(counts) for counts in reads)
    assert short == length / 2
    assert long == length
    return short, long


def no_wave_from_the_future(change: int = 5) -> float:
    """How far a changed token moves the logits before it, at most, over all kinds."""
    ids = torch.arange(10)[None]
    other = ids.clone()
    other[0, change] = 11
    moved = []
    for kind in KINDS:
        torch.manual_seed(0)
        small = {"n_embd": 16, "n_layer": 3, "n_head": 2, "vocab_size": 12}
        ends = {"bos_token_id": 0, "eos_token_id": 1}
        config = WavyGPT2Config(residual=kind, **small, **ends)
        model = WavyGPT2LMHeadModel(config).double().eval()
        with torch.no_grad():
            step = (model(ids).logits - model(other).logits).abs()[0]
        assert step[change:].amax(dim=-1).min() > 0
        moved.append(step[:change].max().item())
    assert max(moved) < 1e-12
    return max(moved)


def tokens_to_see(gain: float = 6e-4, deviation: float = 0.5) -> float:
    """Tokens on which a mean difference is twice its standard error."""
    tokens = (2 * deviation / gain) ** 2
    assert 2e6 < tokens < 3e6
    assert abs(gain - 2 * deviation / tokens**0.5) < 1e-12
    return tokens
