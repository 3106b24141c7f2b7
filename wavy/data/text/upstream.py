"""Texts that the package ``datasets`` streams: English Wikipedia with BookCorpus, and OpenWebText.

Each is looked for as Parquet files with a column "text" in $WAVY_DATA, in ``text/wikipedia``, ``text/bookcorpus`` and
``text/openwebtext``, and then on the Hugging Face hub. Nothing is checked here: ``datasets`` checks what it fetches,
and these texts are too large to be read before they are used.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from wavy.data.cache import folder_from_env
from wavy.data.extras import require
from wavy.data.hub_tables import load_from_hub
from wavy.data.text.splits import split_of

if TYPE_CHECKING:
    from datasets import IterableDataset

#: Folder in $WAVY_DATA/text -> data set on the hub, its configuration and its revision.
HUB = {
    "wikipedia": ("wikimedia/wikipedia", "20231101.en", None),
    # This one is published as a script, which datasets no longer runs; the hub keeps what it yields on this branch.
    "bookcorpus": ("bookcorpus/bookcorpus", None, "refs/convert/parquet"),
    "openwebtext": ("Skylion007/openwebtext", None, None),
}
#: A row of BookCorpus is one sentence, and nothing marks the ends of books: so many rows are a document here.
SENTENCES = 128
#: Share of Wikipedia among the documents: about 6.4 million articles to 0.6 million documents of BookCorpus.
WIKIPEDIA_SHARE = 0.92
BUFFER = 10_000  # documents that shuffling holds in memory


class Streamed:
    """The documents of one split, read anew each time, in an order that a fixed seed shuffles."""

    def __init__(self, dataset: "IterableDataset", split: str) -> None:
        self.dataset, self.split = dataset, split

    def __iter__(self) -> Iterator[str]:
        """Yield the documents, one paragraph a line."""
        for row in self.dataset:
            document = "\n".join(line.strip() for line in row["text"].split("\n") if line.strip())
            if document and split_of(document) == self.split:
                yield document


def wikipedia_and_bookcorpus(split: str) -> tuple[Streamed, str]:
    """Stream articles and runs of sentences from books, mixed at random; BookCorpus is lower case and tokenised.

    Returns:
        The documents, and where they come from.

    Raises:
        DataUnavailable: The package ``datasets`` is missing, or a data set could not be had.
    """
    articles, source = _stream("wikipedia")
    sentences, other_source = _stream("bookcorpus")
    runs = sentences.batch(SENTENCES).map(lambda row: {"text": "\n".join(row["text"])})
    mixed = require("datasets", "training").interleave_datasets(
        [articles.shuffle(seed=0, buffer_size=BUFFER), runs.shuffle(seed=0, buffer_size=BUFFER)],
        probabilities=[WIKIPEDIA_SHARE, 1 - WIKIPEDIA_SHARE],
        seed=0,
    )
    return Streamed(mixed, split), " + ".join(dict.fromkeys([source, other_source]))


def openwebtext(split: str) -> tuple[Streamed, str]:
    """Stream the pages of OpenWebText. Returns and raises as ``wikipedia_and_bookcorpus``."""
    pages, source = _stream("openwebtext")
    return Streamed(pages.shuffle(seed=0, buffer_size=BUFFER), split), source


def rows(repository: str, configuration: str, split: str) -> tuple[Iterable[str], str]:
    """Return the column "text" of a data set on the hub, fetched whole, and where it comes from.

    Raises:
        DataUnavailable: The package ``datasets`` is missing, or the data set could not be had.
    """
    return load_from_hub(repository, configuration, split=split)["text"], f"datasets: {repository}"


def _stream(folder: str) -> tuple["IterableDataset", str]:
    root = folder_from_env("WAVY_DATA")
    files = sorted(map(str, (root / "text" / folder).glob("*.parquet"))) if root else []
    if files:
        dataset = load_from_hub("parquet", data_files=files, split="train", streaming=True)
        return dataset.select_columns(["text"]), "$WAVY_DATA"
    repository, configuration, revision = HUB[folder]
    hint = f", or put its Parquet files with a column 'text' into text/{folder} of the folder that WAVY_DATA names"
    dataset = load_from_hub(repository, configuration, revision=revision, split="train", streaming=True, hint=hint)
    return dataset.select_columns(["text"]), f"datasets: {repository}"
