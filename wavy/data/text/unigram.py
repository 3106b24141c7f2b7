"""The perplexity that needs no context: what a language model must beat."""

from collections.abc import Iterable

import torch
from torch import Tensor


def unigram_perplexity(train: Tensor, split: Tensor, vocab_size: int, special_ids: Iterable[int] = ()) -> float:
    """Return the perplexity of a split under the frequencies of tokens in the training split.

    A token seen c times among N has the probability (c + 1) / (N + V), with V the number of tokens that are not
    special: add-one counts, so that no token is impossible. It is also the perplexity of masked tokens, which are drawn
    evenly from those that are not special.

    Args:
        train: Token ids of any shape.
        split: Token ids of any shape, for instance of the validation split.
        vocab_size: Number of ids.
        special_ids: Ids that are neither counted nor predicted, a tokenizer's ``all_special_ids``.

    Raises:
        ValueError: The split has no token that is not special, or an id is not below ``vocab_size``.
    """
    special = torch.tensor(sorted(set(special_ids)), dtype=torch.int64)
    seen, asked = (ids[~torch.isin(ids, special)] for ids in (train.cpu(), split.cpu()))
    if not len(asked):
        raise ValueError("split: found no token that is not special, allowed one or more")
    for name, ids in (("train", seen), ("split", asked)):
        if len(ids) and int(ids.max()) >= vocab_size:
            raise ValueError(f"{name}: found the id {int(ids.max())}, allowed less than vocab_size = {vocab_size}")
    counts = torch.bincount(seen, minlength=vocab_size).double() + 1
    total = len(seen) + vocab_size - len(special)
    return float((total / counts[asked]).log().mean().exp())
