"""What a masked language model can reach without any context, from how each predicted token is shown."""

from __future__ import annotations

import torch
from torch import Tensor

from wavy.training.masking import SHOWN_MASKED, SHOWN_RANDOM


def no_context_perplexity(
    unigrams: Tensor,
    shown: Tensor,
    labels: Tensor,
    mask_id: int,
) -> float:
    """The perplexity of the best predictor that sees one position alone.

    Some predicted tokens are shown as they are, and some as a random token. So what
    is shown says much: by Bayes' rule p(x | s) is in proportion to
    u(x) (k [s = x] + r / V) for a token s that is not [MASK], with the frequencies u,
    the shares k of tokens that are kept and r of random ones, and V ordinary tokens.
    For [MASK] it is u(x).

    Args:
        unigrams: u, (vocabulary,), from
            :func:`wavy.data.text.unigram.unigram_probabilities`.
        shown: what the model sees where it predicts, (M,).
        labels: the tokens there, (M,).
        mask_id: that of [MASK].
    """
    kept = 1 - SHOWN_MASKED - SHOWN_RANDOM
    by_chance = SHOWN_RANDOM / (unigrams > 0).sum()
    prior = unigrams[labels]
    told = kept * (shown == labels) + by_chance
    told = prior * told / (kept * unigrams[shown] + by_chance)
    likely = torch.where(shown == mask_id, prior, told)
    return float((-likely.log().mean()).exp())
