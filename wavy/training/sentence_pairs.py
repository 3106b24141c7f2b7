"""Next-sentence prediction: pairs of spans for BERT's second loss, by its recipe (Devlin et al., NAACL 2019).

A document is a list of sentences. Whole sentences are gathered until they fill a sequence; a random cut parts them
into A and B. In half of the cases B is replaced by sentences of another document, and the replaced ones are used for
the next pair. Where only one sentence was gathered, nothing can follow it and B is always from another document: so
somewhat more than half of all pairs are random.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from wavy.checks import check_whole

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

SHORT_SHARE = 0.1  # of sequences that aim at a random shorter length, so that fine-tuning on short ones fits
RANDOM_SHARE = 0.5
END = re.compile(r"(?<=[.!?])\s+(?=[\"'(`]*\s*[A-Z])")

# Token ids.
Sentence = list[int]


@dataclass(frozen=True)
class SentencePairs:
    """Pairs as BERT takes them, [CLS] A [SEP] B [SEP] [PAD] ...; n pairs of length L."""

    #: (n, L) int64 token ids.
    input_ids: Tensor
    #: (n, L) int64, 0 up to the first [SEP], 1 for B and the second, 0 for padding.
    token_type_ids: Tensor
    #: (n, L) int64, 1 but for padding.
    attention_mask: Tensor
    #: (n,) int64, 0 where B follows A, 1 where it is from another document.
    next_sentence_label: Tensor


def sentences(document: str) -> list[str]:
    """Part a document into sentences: at the ends of lines, and after . ! ? where a capital follows."""
    return [sentence for line in document.split("\n") for sentence in END.split(line.strip()) if sentence]


def sentence_pairs(
    documents: Sequence[str], tokenizer: PreTrainedTokenizerBase, length: int, seed: int
) -> SentencePairs:
    """Make one pass of pairs over documents. Nothing is masked yet, and no text is duplicated.

    Args:
        documents: Two or more with at least one token each; of a streamed text, some thousand at a time.
        tokenizer: With [CLS], [SEP] and [PAD].
        length: Tokens a sequence, special ones included; longer pairs are cut, at the longer span and at either end.
        seed: Fixes what is drawn.

    Raises:
        ValueError: Fewer than two documents with text, or a length below 5.
    """
    check_whole("length", length)
    if length < 5:
        raise ValueError(f"length: found {length}, allowed 5 or more with [CLS] and two [SEP]")
    encoded = [tokens for tokens in (_encode(document, tokenizer) for document in documents) if tokens]
    if len(encoded) < 2:
        raise ValueError(f"documents: found {len(encoded)} with text, allowed two or more")
    rng = random.Random(seed)
    pairs = [pair for index in range(len(encoded)) for pair in _pairs(encoded, index, length - 3, rng)]
    return _collate(pairs, tokenizer, length)


def _encode(document: str, tokenizer: PreTrainedTokenizerBase) -> list[Sentence]:
    texts = sentences(document)
    if not texts:
        return []
    ids = tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"]
    return [sentence for sentence in ids if sentence]


def _pairs(
    documents: list[list[Sentence]], index: int, room: int, rng: random.Random
) -> Iterator[tuple[Sentence, Sentence, int]]:
    """Yield (A, B, 0 or 1 for a random B) for one document; A and B have ``room`` tokens together at most."""
    document, start = documents[index], 0
    while start < len(document):
        target = rng.randint(2, room) if rng.random() < SHORT_SHARE else room
        end = _fill(document, start, target)
        cut = start + (rng.randint(1, end - start - 1) if end - start > 1 else 1)
        first = _join(document[start:cut])
        is_random = end - start == 1 or rng.random() < RANDOM_SHARE
        if is_random:
            other = rng.randrange(len(documents) - 1)
            second = _span(documents[other + (other >= index)], target - len(first), rng)
            start = cut  # what was replaced comes again
        else:
            second, start = _join(document[cut:end]), end
        yield *_truncate(first, second, room, rng), int(is_random)


def _fill(document: list[Sentence], start: int, target: int) -> int:
    """Return where sentences from ``start`` on end that have ``target`` tokens or more, or the document's end."""
    end, total = start, 0
    while end < len(document) and total < target:
        total += len(document[end])
        end += 1
    return end


def _span(document: list[Sentence], target: int, rng: random.Random) -> Sentence:
    start = rng.randrange(len(document))
    return _join(document[start : max(_fill(document, start, target), start + 1)])


def _join(parts: list[Sentence]) -> Sentence:
    return [token for sentence in parts for token in sentence]


def _truncate(first: Sentence, second: Sentence, room: int, rng: random.Random) -> tuple[Sentence, Sentence]:
    first, second = first[:], second[:]
    while len(first) + len(second) > room:
        longer = first if len(first) > len(second) else second
        longer.pop(0 if rng.random() < 0.5 else -1)
    return first, second


def _collate(
    pairs: list[tuple[Sentence, Sentence, int]], tokenizer: PreTrainedTokenizerBase, length: int
) -> SentencePairs:
    cls_id, sep_id = tokenizer.cls_token_id, tokenizer.sep_token_id
    ids = torch.full((len(pairs), length), tokenizer.pad_token_id)
    types, mask = torch.zeros_like(ids), torch.zeros_like(ids)
    for row, (first, second, _) in enumerate(pairs):
        tokens = [cls_id, *first, sep_id, *second, sep_id]
        ids[row, : len(tokens)] = torch.tensor(tokens)
        types[row, len(first) + 2 : len(tokens)] = 1
        mask[row, : len(tokens)] = 1
    return SentencePairs(ids, types, mask, torch.tensor([label for *_, label in pairs]))
