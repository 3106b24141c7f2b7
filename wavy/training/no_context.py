"""What a masked language model can reach without any context, from how each predicted token is shown."""

from __future__ import annotations

import torch
from torch import Tensor

from wavy.training.masking import SHOWN_MASKED, SHOWN_RANDOM


def no_context_probabilities(
    label_prior: Tensor,
    shown_prior: Tensor,
    hidden: Tensor,
    kept: Tensor,
    ordinary: int,
) -> Tensor:
    """The probabilities that the best predictor gives which sees one position alone.

    Some predicted tokens are shown as they are, and some as a random token. So what
    is shown says much: by Bayes' rule p(x | s) is in proportion to
    p(x) (k [s = x] + r / V) for a token s that is not [MASK], with the share k of
    tokens that are kept, the share r of random ones, and V ordinary tokens. For
    [MASK] it is p(x), how likely x is at such a place.

    Args:
        label_prior: p of the tokens to predict, (M,).
        shown_prior: p of what the model sees there, (M,); of no account for [MASK].
        hidden: whether it sees [MASK], (M,).
        kept: whether it sees the token itself, (M,).
        ordinary: V.
    """
    stays = 1 - SHOWN_MASKED - SHOWN_RANDOM
    by_chance = SHOWN_RANDOM / ordinary
    told = label_prior * (stays * kept + by_chance)
    told = told / (stays * shown_prior + by_chance)
    return torch.where(hidden, label_prior, told)
