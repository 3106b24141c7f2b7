"""WordPiece, BERT's tokenizer: with BERT's own vocabulary, or with one trained on a corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from wavy.checks import check_whole
from wavy.data.extras import require
from wavy.data.hub import HubFiles
from wavy.data.lookup import read_files

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerBase

BERT = "vocab/bert-base-uncased-vocab.txt"
BERT_SIZE = 30_522
SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PREFIX = "##"  # of pieces that go on a word
#: The most characters in a trained vocabulary; words with rarer ones are [UNK].
ALPHABET = 1000


def wordpiece(corpus: Iterable[str] | None = None, vocab_size: int = BERT_SIZE) -> PreTrainedTokenizerBase:
    """Return an uncased WordPiece tokenizer, ``BertTokenizerFast`` of ``transformers``.

    It lower-cases, strips accents, and parts words at spaces, punctuation and Chinese characters, as BERT does. The
    same corpus always gives the same vocabulary.

    Args:
        corpus: Documents to train the vocabulary on; ``None`` takes that of BERT (uncased), from $WAVY_DATA, the
            cache, or the Hugging Face hub. Which of the two it is depends on this argument only, never on what is at
            hand.
        vocab_size: The most tokens, special ones included. A short corpus gives fewer. BERT's vocabulary has 30,522.

    Returns:
        The tokenizer, with [PAD], [UNK], [CLS], [SEP] and [MASK].

    Raises:
        ValueError: A size that is no whole number >= 1, another than 30,522 for BERT's vocabulary, or one too small
            for the special tokens and the characters of the corpus; or an empty corpus.
        DataUnavailable: BERT's vocabulary could not be had, or the package ``transformers`` is missing.
    """
    check_whole("vocab_size", vocab_size)
    if corpus is None and vocab_size != BERT_SIZE:
        raise ValueError(f"vocab_size: found {vocab_size}, allowed {BERT_SIZE} without a corpus")
    tokenizer_class = require("transformers", "hosts").BertTokenizerFast
    tokens = _bert_tokens() if corpus is None else _train(corpus, vocab_size)
    return tokenizer_class(vocab={token: index for index, token in enumerate(tokens)})


def _bert_tokens() -> list[str]:
    contents, _ = read_files([BERT], [HubFiles("google-bert/bert-base-uncased", {BERT: "vocab.txt"})])
    return contents[BERT].decode().removesuffix("\n").split("\n")


def _train(corpus: Iterable[str], vocab_size: int) -> list[str]:
    """Return the tokens in the order of their ids.

    The trainer breaks ties between equally frequent pairs by the ids of their pieces, and gives ids to single
    characters within words in the order of a hash table, which differs from process to process. Named beforehand, they
    have fixed ids.
    """
    from tokenizers.trainers import WordPieceTrainer  # noqa: PLC0415 (an extra)
    from transformers import BertTokenizerFast  # noqa: PLC0415

    documents = [document.replace("[UNK]", " ") for document in corpus]  # the mark of unknown words is no word
    tokenizer = BertTokenizerFast().backend_tokenizer
    first, later = _characters(tokenizer, documents)
    known = [*SPECIAL_TOKENS, *first, *later]
    if not first or vocab_size < len(known):
        found = f"vocab_size: found {vocab_size}, allowed {len(known)} or more" if first else "corpus: found no word"
        raise ValueError(f"{found} for the special tokens and the characters of this corpus")
    trainer = WordPieceTrainer(
        vocab_size=vocab_size,
        min_frequency=2,
        special_tokens=known,
        initial_alphabet=first,
        limit_alphabet=len(first),
        show_progress=False,
    )
    tokenizer.train_from_iterator(documents, trainer)
    ids = tokenizer.get_vocab()
    return sorted(ids, key=ids.get)


def _characters(tokenizer: Tokenizer, documents: list[str]) -> tuple[list[str], list[str]]:
    """Return the most frequent characters, sorted, and with their prefix those that can stand within a word."""
    counts: Counter[str] = Counter()
    for document in documents:
        counts.update(tokenizer.normalizer.normalize_str(document))
    seen = sorted((character for character in counts if not character.isspace()), key=lambda c: (-counts[c], c))
    first = sorted(seen[:ALPHABET])
    return first, [PREFIX + character for character in first if _joins(tokenizer, character)]


def _joins(tokenizer: Tokenizer, character: str) -> bool:
    text = tokenizer.normalizer.normalize_str(f"a{character}a")
    return len(tokenizer.pre_tokenizer.pre_tokenize_str(text)) == 1
