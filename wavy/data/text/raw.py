"""Compressed raw texts, looked up and checked like all raw files."""

import lzma

from wavy.data.lookup import read_files


def read_xz(path: str) -> tuple[str, str]:
    """Read a text that $WAVY_DATA or the cache holds as ``text/<path>.txt.xz``.

    Args:
        path: For instance "wikitext2/train".

    Returns:
        The text and where it came from.

    Raises:
        DataUnavailable: It is in neither place.
    """
    name = f"text/{path}.txt.xz"
    contents, source = read_files([name], ())
    return lzma.decompress(contents[name]).decode(), source
