"""What a committed notebook has glued: words and pictures under a key, read from the .ipynb file."""

from __future__ import annotations

import ast
import base64
from functools import lru_cache
from pathlib import Path

import nbformat

from wavy.companion.paths import CompanionError

PREFIX = "application/papermill.record/"


def glued_picture(notebook: Path, key: str) -> bytes:
    """The PNG image that ``glue(key, figure)`` left in an executed notebook.

    Raises:
        CompanionError: no such notebook, nothing glued under ``key``, or no picture.
    """
    glued = _glued_by(notebook)
    if (data := glued.get(key)) is None:
        known = ", ".join(glued) or "none"
        raise CompanionError(f'{notebook.name} glues nothing under "{key}" (known: {known})')
    if (image := data.get(f"{PREFIX}image/png")) is None:
        raise CompanionError(f'{notebook.name} glues no picture under "{key}"')
    return base64.b64decode(image)


def glued_words(notebook: Path) -> dict[str, str]:
    """All strings that an executed notebook has glued, by key.

    Raises:
        CompanionError: no such notebook.
    """
    texts = {key: data.get(f"{PREFIX}text/plain", "") for key, data in _glued_by(notebook).items()}
    words = {key: _literal(text) for key, text in texts.items()}
    return {key: value for key, value in words.items() if isinstance(value, str)}


def _literal(text: str) -> object:
    """The value of what Python has written, for instance of 'holds'; None for what is no literal."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return None


def _glued_by(notebook: Path) -> dict[str, dict]:
    if not notebook.is_file():
        raise CompanionError(f"there is no notebook {notebook.name}")
    return _glued(notebook, notebook.stat().st_mtime_ns)


@lru_cache(maxsize=1)  # a chapter asks one notebook for all its figures, and reading one takes long
def _glued(notebook: Path, changed: int) -> dict[str, dict]:
    """All that a notebook glues, by key; ``changed``, its time stamp, makes a changed file be read anew."""
    outputs = [output for cell in nbformat.read(notebook, as_version=4).cells for output in cell.get("outputs", [])]
    named = [(output.get("metadata", {}).get("scrapbook", {}).get("name"), output) for output in outputs]
    return {name: output["data"] for name, output in named if name}
