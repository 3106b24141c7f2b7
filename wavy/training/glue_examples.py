"""GLUE's examples as token sequences, each batch padded to its own longest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.utils.data import Dataset

from wavy.data.glue import GlueData

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


class GlueExamples(Dataset):
    """Sentences, or pairs of them, with their labels.

    Args:
        data: from :func:`wavy.data.glue.load_glue`.
        tokenizer: BERT's.
        length: tokens of an example at most; of a pair the longer text is cut.
        dtype: of the scores that a model predicts.
    """

    def __init__(self, data: GlueData, tokenizer: PreTrainedTokenizerBase, length: int, dtype: torch.dtype) -> None:
        texts = (data.texts_a,) if data.texts_b is None else (data.texts_a, data.texts_b)
        encoded = tokenizer(*texts, truncation=True, max_length=length, verbose=False)
        self.ids, self.types = encoded["input_ids"], encoded["token_type_ids"]
        self.labels = torch.tensor(data.labels, dtype=torch.int64 if data.label_names else dtype)
        self.classes = len(data.label_names)
        self.padding = tokenizer.pad_token_id

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, index: int) -> dict[str, list[int] | Tensor]:
        return {"input_ids": self.ids[index], "token_type_ids": self.types[index], "labels": self.labels[index]}

    def collate(self, examples: list[dict]) -> dict[str, Tensor]:
        """A batch for BERT: (B, N) each, N the tokens of its longest example; labels (B,)."""
        return {
            "input_ids": _padded([example["input_ids"] for example in examples], self.padding),
            "token_type_ids": _padded([example["token_type_ids"] for example in examples], 0),
            "attention_mask": _padded([[1] * len(example["input_ids"]) for example in examples], 0),
            "labels": torch.stack([example["labels"] for example in examples]),
        }

    def alike(self, most: int) -> list[int]:
        """At most ``most`` examples of one length, the most frequent one: a batch of them has no padding."""
        lengths = torch.tensor([len(ids) for ids in self.ids])
        return (lengths == lengths.bincount().argmax()).nonzero()[:most, 0].tolist()


def _padded(rows: list[list[int]], value: int) -> Tensor:
    longest = max(map(len, rows))
    return torch.tensor([row + [value] * (longest - len(row)) for row in rows])
