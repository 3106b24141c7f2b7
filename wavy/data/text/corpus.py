"""A text as language models read it: whole documents in a fixed order."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

SPLITS = ("train", "valid", "test")


@dataclass(frozen=True)
class Corpus:
    """One split of a text.

    A document is a string with one paragraph a line and no empty lines. Iterating yields the documents, always in the
    same order.
    """

    name: str
    split: str
    #: A list, or an iterable that reads anew from upstream each time.
    documents: Iterable[str]
    #: Where the text came from; for the docstrings also the versions of the packages.
    source: str

    def __iter__(self) -> Iterator[str]:
        """Yield the documents."""
        return iter(self.documents)

    def digest(self) -> str:
        """Return a sha256 of all documents: two corpora with one digest hold the same text in the same order."""
        total = hashlib.sha256()
        for document in self.documents:
            total.update(hashlib.sha256(document.encode()).digest())
        return total.hexdigest()
