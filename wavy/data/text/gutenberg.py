"""Eleven prose books of Project Gutenberg (public domain in the US), tokenised, one sentence a line.

The spaces around punctuation stay as they are; to BERT's tokenizer they make no difference. A document is a chapter,
so chapters of one book stand in different splits: a low perplexity here also tells that names and style are known.
"""

import re
from collections.abc import Iterator

from wavy.data.text.raw import read_xz

BOOK = re.compile(r"^\[ .* by .* \]$")
CHAPTER = re.compile(r"^(?:CHAPTER|Chapter|BOOK|VOLUME|[IVXLC]+ \.)(?: |$)")
SHORTEST = 1000  # characters; a shorter piece (a title, a line of the contents) goes with the next


def read_gutenberg() -> tuple[Iterator[str], str]:
    """Read the chapters, one sentence a line.

    Returns:
        The chapters, and where they came from.

    Raises:
        DataUnavailable: The file is in neither $WAVY_DATA nor the cache.
    """
    text, source = read_xz("gutenberg_prose")
    return chapters(text), source


def chapters(text: str) -> Iterator[str]:
    """Part the books at their chapters' headings; none goes over the end of a book."""
    piece: list[str] = []
    for line in text.split("\n"):
        starts_book, length = BOOK.match(line), sum(map(len, piece))
        if piece and (starts_book or (CHAPTER.match(line) and length >= SHORTEST)):
            yield "\n".join(piece)
            piece = []
        if line:
            piece.append(line)
    if piece:
        yield "\n".join(piece)
