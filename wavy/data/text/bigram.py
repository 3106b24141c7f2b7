"""The perplexity that one token of context gives: what a decoder must beat to have read more."""

from collections.abc import Iterable

import torch
from torch import Tensor

from wavy.data.text.unigram import unigram_probabilities


def bigram_perplexity(
    train: Tensor, before: Tensor, asked: Tensor, vocab_size: int, special_ids: Iterable[int] = ()
) -> float:
    """Return the perplexity of tokens under the frequencies with which they follow the one before them.

    Of the c(a) pairs of the training split that begin with a, c(a, b) end in b; t(a) different tokens do. Then
    p(b | a) = (c(a, b) + t(a) u(b)) / (c(a) + t(a)), with the frequencies u of the tokens alone (Witten and Bell's
    smoothing, which has nothing to choose).

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
    pairs = torch.zeros(vocab_size, vocab_size, dtype=torch.float64)
    one = torch.ones((), dtype=torch.float64)
    pairs.index_put_((first[predicted], second[predicted]), one, accumulate=True)
    # A token that nothing follows, at the end of the text, leaves the frequencies of the tokens alone.
    types = (pairs > 0).sum(dim=1).clamp(min=1)
    unigrams = unigram_probabilities(train, vocab_size, special_ids)
    likely = pairs[before, asked] + types[before] * unigrams[asked]
    return float((pairs.sum(dim=1)[before] + types[before]).div(likely).log().mean().exp())
