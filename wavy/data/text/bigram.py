"""The perplexity that one token of context gives: what a decoder must beat to have read more."""

from collections.abc import Iterable

import torch
from torch import Tensor

from wavy.data.text.context_counts import context_counts, witten_bell
from wavy.data.text.perplexity import perplexity
from wavy.data.text.unigram import unigram_probabilities


def bigram_perplexity(
    train: Tensor, before: Tensor, asked: Tensor, vocab_size: int, special_ids: Iterable[int] = ()
) -> float:
    """Return the perplexity of tokens under the frequencies with which they follow the one before them.

    Args:
        train: Token ids, (n, L); pairs are those within a row.
        before: Token ids, (M,).
        asked: Those that follow them, none special, (M,).
        vocab_size: Number of ids.
        special_ids: Ids that are read but not predicted, a tokenizer's ``all_special_ids``.
    """
    special = torch.tensor(sorted(set(special_ids)), dtype=torch.int64)
    first, second = train[:, :-1].flatten(), train[:, 1:].flatten()
    predicted = ~torch.isin(second, special)
    pairs = context_counts(first[predicted], second[predicted], vocab_size, vocab_size)
    unigrams = unigram_probabilities(train, vocab_size, special_ids)
    return perplexity(witten_bell(pairs, before, asked, unigrams))
