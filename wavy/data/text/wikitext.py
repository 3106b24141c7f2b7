"""WikiText-2: articles of Wikipedia with the benchmark's own split (Merity et al., ICLR 2017; CC BY-SA).

The published text is tokenised: punctuation stands apart, ``@-@`` is a hyphen within a word, and rare words are
``<unk>``. Here ``@-@``, ``@,@`` and ``@.@`` and the marks of headings are undone and ``<unk>`` becomes ``[UNK]``,
WordPiece's own token, which is never predicted. The spaces around punctuation stay; to BERT's tokenizer, which parts
words from punctuation anyway, they make no difference.

The file of the training split that the checksum belongs to has its articles in another order than the published one,
and some 15 tables stand in another article. Validation and test are the published bytes.
"""

import logging
import re
from collections.abc import Iterator

from wavy.data.sources import DataUnavailable
from wavy.data.text import upstream
from wavy.data.text.raw import read_xz

#: On the Hugging Face hub: data set, configuration, and what it calls the splits.
REPOSITORY, CONFIGURATION = "Salesforce/wikitext", "wikitext-2-v1"
HUB_SPLITS = {"train": "train", "valid": "validation", "test": "test"}
HEADING = re.compile(r"^((?:= )+)(.+?)((?: =)+)$")
JOINER = re.compile(r" @([-,.])@ ")

log = logging.getLogger("wavy.data")


def read_wikitext2(split: str) -> tuple[Iterator[str], str]:
    """Read a split: the checked file, or else the data set of the package ``datasets``, which checks its own files.

    Returns:
        The articles, title first, one paragraph a line; and where they came from.

    Raises:
        DataUnavailable: Neither could be had.
    """
    try:
        text, source = read_xz(f"wikitext2/{split}")
    except DataUnavailable as error:
        text, source = _from_hub(split, error)
    return articles(text), source


def _from_hub(split: str, why: DataUnavailable) -> tuple[str, str]:
    """Return the text of a split, and where it came from; its rows are the lines of the published file."""
    log.info(str(why))
    try:
        rows, source = upstream.rows(REPOSITORY, CONFIGURATION, HUB_SPLITS[split])
    except DataUnavailable as error:
        raise DataUnavailable(f"{why} {error}") from error
    return "\n".join(row.strip("\n") for row in rows), source


def articles(text: str) -> Iterator[str]:
    """Part the raw text into articles. A title is a heading of the first level between two empty lines."""
    lines = [line.strip() for line in text.split("\n")]
    paragraphs: list[str] = []
    for before, line, after in zip(["", *lines], lines, [*lines[1:], ""], strict=False):
        heading = HEADING.match(line)
        if heading and not before and not after and heading[1] == "= " and heading[3] == " =":
            if paragraphs:
                yield "\n".join(paragraphs)
            paragraphs = []
        if line:
            paragraphs.append(_plain(heading[2] if heading else line))
    if paragraphs:
        yield "\n".join(paragraphs)


def _plain(line: str) -> str:
    return JOINER.sub(r"\1", line).replace("<unk>", "[UNK]")
