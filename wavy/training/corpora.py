"""The text of a language run: the documents of each split, and the tokenizer that is made from those of training."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from wavy.data.text import SPLITS, STREAMED, load_text
from wavy.data.text.splits import limited
from wavy.data.text.vocabulary import BERT_SIZE, wordpiece
from wavy.experiments.language_run import LanguageRun

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

#: Of a streamed text, the documents of validation and test are as many as a twentieth of the characters allows.
STREAMED_SHARE = 20


def run_documents(run: LanguageRun, split: str) -> list[str]:
    """The documents of a split (``train``, ``valid`` or ``test``) of a run's text."""
    return _documents(run.dataset, run.limit, split)


def run_tokenizer(run: LanguageRun) -> PreTrainedTokenizerBase:
    """BERT's own tokenizer for its number of tokens, else one trained on the training split of the run's text."""
    return _tokenizer(run.dataset, run.limit, run.vocab_size)


# A sweep trains many models on one text, in one process.
@lru_cache(maxsize=len(SPLITS))
def _documents(name: str, limit: int | None, split: str) -> list[str]:
    if name not in STREAMED:
        return list(load_text(name, split, limit))
    share = limit if split == "train" or limit is None else limit // STREAMED_SHARE
    return list(limited(load_text(name, split), share))


@lru_cache(maxsize=2)
def _tokenizer(name: str, limit: int | None, size: int) -> PreTrainedTokenizerBase:
    return wordpiece() if size == BERT_SIZE else wordpiece(_documents(name, limit, "train"), size)
