"""Training, validation and test documents that share no text.

The split of a document follows from a hash of its text alone, so that it depends neither on the order nor on the
number of the documents, and copies of one document never stand on two sides.
"""

import hashlib
from collections.abc import Iterable, Iterator

#: One document of 20 is for validation, one for the test.
PARTS = 20
#: A shorter paragraph (a heading, a short reply) may repeat.
SHORTEST_REPEAT = 5  # words


def split_of(document: str) -> str:
    """Return "train", "valid" or "test": the split a document belongs to, whatever its case and spaces."""
    part = int.from_bytes(hashlib.sha256(normalised(document).encode()).digest()[:8]) % PARTS
    return {0: "valid", 1: "test"}.get(part, "train")


def without_repeats(documents: Iterable[str]) -> Iterator[str]:
    """Keep of paragraphs that repeat, within a document or between two, only the first.

    Args:
        documents: Strings with one paragraph a line.

    Yields:
        The documents without later copies of paragraphs of ``SHORTEST_REPEAT`` or more words; none that is empty then.
    """
    seen: set[bytes] = set()
    for document in documents:
        kept = [paragraph for paragraph in document.split("\n") if _is_new(paragraph, seen)]
        if kept:
            yield "\n".join(kept)


def limited(documents: Iterable[str], limit: int | None) -> Iterator[str]:
    """Yield documents until they have ``limit`` characters together; the last one is whole. ``None`` yields all."""
    total = 0
    for document in documents:
        yield document
        total += len(document)
        if limit is not None and total >= limit:
            return


def normalised(text: str) -> str:
    """Return a text in lower case with single spaces: what counts as the same text."""
    return " ".join(text.split()).casefold()


def _is_new(paragraph: str, seen: set[bytes]) -> bool:
    text = normalised(paragraph)
    if text.count(" ") < SHORTEST_REPEAT - 1:
        return bool(text)
    key = hashlib.blake2b(text.encode(), digest_size=16).digest()
    is_new = key not in seen
    seen.add(key)
    return is_new
