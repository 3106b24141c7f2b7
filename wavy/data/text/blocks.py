"""Blocks of tokens of one length, cut from documents without padding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from wavy.checks import check_choice, check_whole

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

PACKINGS = ("document", "stream")
BATCH = 64  # documents that are tokenised at once


@dataclass(frozen=True)
class Blocks:
    """Blocks and the account of what is not in them."""

    #: (n, L) int64.
    ids: Tensor
    #: Tokens of all documents, without [CLS] and [SEP] around blocks but with the marks of ends of documents.
    tokens: int
    #: How many of these are in no block.
    dropped: int


def token_blocks(
    documents: Iterable[str], tokenizer: PreTrainedTokenizerBase, length: int, packing: str = "document"
) -> Blocks:
    """Cut documents into blocks, all in memory; in the order of the text.

    * "document", for BERT: a block is [CLS], ``length`` - 2 tokens of one document, [SEP]. The rest of a document
      that fills no block is dropped, and with it a whole document that is too short.
    * "stream", for GPT-2: the documents are joined, each followed by the tokenizer's end-of-text token (its [SEP] where
      it has none), and cut every ``length`` tokens, across documents. Only what is left at the very end is dropped.

    Args:
        documents: Texts.
        tokenizer: Of ``transformers``.
        length: Tokens a block, special ones included.
        packing: "document" or "stream".

    Returns:
        The blocks and the account.

    Raises:
        ValueError: One text in place of several, an unknown packing, a length without room for a token of the text, or
            a tokenizer without the special tokens.
    """
    counted = _Counted(documents, tokenizer)
    blocks = list(_cut(counted, tokenizer, length, packing))
    ids = torch.tensor(blocks, dtype=torch.int64).reshape(len(blocks), length)
    if packing == "document":
        return Blocks(ids, counted.tokens, counted.tokens - len(blocks) * (length - 2))
    total = counted.tokens + counted.documents
    return Blocks(ids, total, total - ids.numel())


def stream_blocks(
    documents: Iterable[str], tokenizer: PreTrainedTokenizerBase, length: int, packing: str = "document"
) -> Iterator[Tensor]:
    """Yield the blocks of ``token_blocks`` one by one, (L,) int64 each, as the documents come in."""
    for block in _cut(_Counted(documents, tokenizer), tokenizer, length, packing):
        yield torch.tensor(block)


class _Counted:
    """The token ids of documents, and how many went by."""

    def __init__(self, documents: Iterable[str], tokenizer: PreTrainedTokenizerBase) -> None:
        if isinstance(documents, str):  # else each character would be a document
            raise ValueError("documents: found one text, allowed several, for instance a list of it alone")
        self.texts, self.tokenizer = documents, tokenizer
        self.tokens = self.documents = 0

    def __iter__(self) -> Iterator[list[int]]:
        texts = iter(self.texts)
        while batch := list(islice(texts, BATCH)):
            for ids in self.tokenizer(batch, add_special_tokens=False, verbose=False)["input_ids"]:
                self.tokens += len(ids)
                self.documents += 1
                yield ids


def _cut(
    encoded: Iterable[list[int]], tokenizer: PreTrainedTokenizerBase, length: int, packing: str
) -> Iterator[list[int]]:
    check_choice("packing", packing, PACKINGS)
    check_whole("length", length)
    if packing == "document":
        return _cut_documents(encoded, _ids(tokenizer, "cls_token", "sep_token"), length)
    end = "eos_token" if tokenizer.eos_token_id is not None else "sep_token"
    return _cut_stream(encoded, _ids(tokenizer, end), length)


def _cut_documents(encoded: Iterable[list[int]], special: list[int], length: int) -> Iterator[list[int]]:
    if length < 3:
        raise ValueError(f"length: found {length}, allowed 3 or more with [CLS] and [SEP]")
    first, last = special
    step = length - 2
    for ids in encoded:
        for start in range(0, len(ids) - step + 1, step):
            yield [first, *ids[start : start + step], last]


def _cut_stream(encoded: Iterable[list[int]], end: list[int], length: int) -> Iterator[list[int]]:
    rest: list[int] = []
    for ids in encoded:
        rest += ids + end
        whole = len(rest) - len(rest) % length
        yield from (rest[start : start + length] for start in range(0, whole, length))
        rest = rest[whole:]


def _ids(tokenizer: PreTrainedTokenizerBase, *names: str) -> list[int]:
    found = [getattr(tokenizer, f"{name}_id") for name in names]
    if None in found:
        raise ValueError(
            f"tokenizer: found one without {names[found.index(None)]}, allowed one with {', '.join(names)}"
        )
    return found
