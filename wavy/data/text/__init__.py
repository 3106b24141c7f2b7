"""Texts for language models by name, their tokens, and blocks of them."""

import logging
from collections.abc import Callable, Iterable

from wavy.checks import check_choice, check_whole
from wavy.data.text import docstrings, enwiki, gutenberg, upstream, wikitext
from wavy.data.text.corpus import SPLITS, Corpus
from wavy.data.text.splits import limited, split_of, without_repeats

__all__ = ["NAMES", "SPLITS", "Corpus", "load_text"]

#: Texts without a split of their own: their repeated paragraphs are dropped, and their documents split by a hash.
WHOLE: dict[str, Callable[[], tuple[Iterable[str], str]]] = {
    "docstrings": docstrings.read_docstrings,
    "enwiki": enwiki.read_enwiki,
    "gutenberg": gutenberg.read_gutenberg,
}
#: Texts with a split of their own, or too long for more than one look at a document.
BY_SPLIT = {
    "wikitext2": wikitext.read_wikitext2,
    "wikipedia+bookcorpus": upstream.wikipedia_and_bookcorpus,
    "openwebtext": upstream.openwebtext,
}
STREAMED = ("wikipedia+bookcorpus", "openwebtext")
NAMES = (*WHOLE, *BY_SPLIT)

log = logging.getLogger("wavy.data")


def load_text(name: str, split: str = "train", limit: int | None = None) -> Corpus:
    """Load a split of a text.

    * "docstrings": prose of the installed scientific packages; needs no data. Its text follows from their versions:
      ``Corpus.digest`` tells whether it is the same. All of it takes half a minute to read, so set a limit.
    * "wikitext2": Wikipedia, with the benchmark's split; $WAVY_DATA, the cache, or the package ``datasets``.
    * "enwiki": a sample of Wikipedia; "gutenberg": eleven books, a document a chapter. $WAVY_DATA or the cache.
    * "wikipedia+bookcorpus", "openwebtext": streamed by the package ``datasets``, for training at full scale.

    A document belongs to one split as a whole. But for "wikitext2", a hash of the document tells which: 90 % train,
    5 % valid, 5 % test. Repeated paragraphs are dropped beforehand, so that the splits share no paragraph of five
    words or more; of streamed texts, whose paragraphs cannot all be remembered, they share no document.

    Args:
        name: One of the names above.
        split: "train", "valid" or "test".
        limit: Read no more documents than these many characters take; ``None`` reads all. A text that is split by
            a hash is cut before, so the splits together have these many. Streamed texts take ``None`` only: take from
            their documents what is needed.

    Returns:
        The corpus: its documents, a list but where they are streamed, and its source.

    Raises:
        ValueError: An unknown name or split, a limit that is not a whole number >= 1 or leaves no document, or
            $WAVY_DATA or $WAVY_CACHE is not an absolute path.
        DataUnavailable: The text could not be had; the message says what to do.
    """
    check_choice("name", name, NAMES)
    check_choice("split", split, SPLITS)
    if limit is not None:
        check_whole("limit", limit)
    if name in STREAMED:
        if limit is not None:
            raise ValueError(f"limit: found {limit}, allowed None for the streamed text {name}")
        documents, source = BY_SPLIT[name](split)
    else:
        documents, source = _read(name, split, limit)
    log.info("text %s: from %s", name, source)
    return Corpus(name, split, documents, source)


def _read(name: str, split: str, limit: int | None) -> tuple[list[str], str]:
    if name in WHOLE:
        documents, source = WHOLE[name]()
        documents = (text for text in limited(without_repeats(documents), limit) if split_of(text) == split)
    else:
        documents, source = BY_SPLIT[name](split)
        documents = limited(documents, limit)
    kept = list(documents)
    if not kept:
        raise ValueError(f"limit: found {limit}, allowed enough characters for a document in the split {split}")
    return kept, source
