"""How often each token stands in each context, and how likely that makes it: what a few numbers of context give."""

from __future__ import annotations

import torch
from torch import Tensor


def context_counts(contexts: Tensor, tokens: Tensor, number: int, vocab_size: int) -> Tensor:
    """Count the tokens of each context, (number, vocabulary), float64.

    Args:
        contexts: Their indices, (n,).
        tokens: The token that stands in each, (n,).
        number: How many contexts there are.
        vocab_size: How many tokens there are.
    """
    counts = torch.zeros(number, vocab_size, dtype=torch.float64)
    return counts.index_put_((contexts, tokens), torch.ones((), dtype=torch.float64), accumulate=True)


def witten_bell(counts: Tensor, contexts: Tensor, tokens: Tensor, unigrams: Tensor) -> Tensor:
    """Return the probabilities of tokens in their contexts, by Witten and Bell's smoothing.

    It has nothing to choose. Of the c(a) tokens in the context a, c(a, b) are the token b, and t(a) are different. So
    p(b | a) = (c(a, b) + t(a) u(b)) / (c(a) + t(a)), with the frequencies u of the tokens alone.

    Args:
        counts: From :func:`context_counts`.
        contexts: Indices, of a shape that goes with the next one's.
        tokens: Token ids.
        unigrams: u, (vocabulary,).
    """
    # A context without tokens leaves the frequencies of the tokens alone.
    types = (counts > 0).sum(dim=1).clamp(min=1)
    likely = counts[contexts, tokens] + types[contexts] * unigrams[tokens]
    return likely / (counts.sum(dim=1) + types)[contexts]
