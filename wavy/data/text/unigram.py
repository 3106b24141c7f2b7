"""The perplexity that needs no context: what a language model must beat."""

from collections.abc import Iterable

import torch
from torch import Tensor

from wavy.data.text.perplexity import perplexity


def unigram_probabilities(train: Tensor, vocab_size: int, special_ids: Iterable[int] = ()) -> Tensor:
    """Return the frequencies of tokens in a training split, (V,), zero for special tokens.

    A token seen c times among N has the probability (c + 1) / (N + V), with V the number of tokens that are not
    special: add-one counts, so that no token is impossible.

    Args:
        train: Token ids of any shape.
        vocab_size: Number of ids.
        special_ids: Ids that are not counted, a tokenizer's ``all_special_ids``.

    Raises:
        ValueError: An id is not below ``vocab_size``.
    """
    special = torch.tensor(sorted(set(special_ids)), dtype=torch.int64)
    seen = _ordinary("train", train, special, vocab_size)
    counts = torch.bincount(seen, minlength=vocab_size).double() + 1
    counts[special] = 0
    return counts / counts.sum()


def unigram_perplexity(train: Tensor, split: Tensor, vocab_size: int, special_ids: Iterable[int] = ()) -> float:
    """Return the perplexity of a split under the frequencies of tokens in the training split.

    It is also the perplexity of masked tokens, which are drawn evenly from those that are not special.

    Args:
        train: As in :func:`unigram_probabilities`.
        split: Token ids of any shape, for instance of the validation split.
        vocab_size: As there.
        special_ids: Ids that are neither counted nor predicted.

    Raises:
        ValueError: The split has no token that is not special, or an id is not below ``vocab_size``.
    """
    special = torch.tensor(sorted(set(special_ids)), dtype=torch.int64)
    asked = _ordinary("split", split, special, vocab_size)
    if not len(asked):
        raise ValueError("split: found no token that is not special, allowed one or more")
    return perplexity(unigram_probabilities(train, vocab_size, special_ids)[asked])


def _ordinary(name: str, ids: Tensor, special: Tensor, vocab_size: int) -> Tensor:
    ids = ids.cpu()[~torch.isin(ids.cpu(), special)]
    if len(ids) and int(ids.max()) >= vocab_size:
        raise ValueError(f"{name}: found the id {int(ids.max())}, allowed less than vocab_size = {vocab_size}")
    return ids
