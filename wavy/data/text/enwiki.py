"""A sample of the English Wikipedia: 1,028 articles (CC BY-SA 3.0).

It may overlap with WikiText-2: report no perplexity on WikiText-2 after training on it.
"""

from collections.abc import Iterator

from wavy.data.text.raw import read_xz


def read_enwiki() -> tuple[Iterator[str], str]:
    """Read the articles, title first, one paragraph a line; a few lines keep stray markup.

    Returns:
        The articles, and where they came from.

    Raises:
        DataUnavailable: The file is in neither $WAVY_DATA nor the cache.
    """
    text, source = read_xz("enwiki_sample")
    return (article.strip("\n") for article in text.split("\n\n") if article.strip()), source
