"""What a committed notebook has glued: values and pictures under a key, read from the .ipynb file."""

from __future__ import annotations

import base64
from pathlib import Path

import nbformat

from wavy.companion.paths import CompanionError

PREFIX = "application/papermill.record/"


def glued_picture(notebook: Path, key: str) -> bytes:
    """The PNG image that ``glue(key, figure)`` left in an executed notebook.

    Raises:
        CompanionError: no such notebook, nothing glued under ``key``, or no picture.
    """
    data = _glued(notebook).get(key)
    if data is None:
        known = ", ".join(_glued(notebook)) or "none"
        raise CompanionError(f'{notebook.name} glues nothing under "{key}" (known: {known})')
    if (image := data.get(f"{PREFIX}image/png")) is None:
        raise CompanionError(f'{notebook.name} glues no picture under "{key}"')
    return base64.b64decode(image)


def _glued(notebook: Path) -> dict[str, dict]:
    if not notebook.is_file():
        raise CompanionError(f"there is no notebook {notebook.name}")
    outputs = [output for cell in nbformat.read(notebook, as_version=4).cells for output in cell.get("outputs", [])]
    named = [(output.get("metadata", {}).get("scrapbook", {}).get("name"), output) for output in outputs]
    return {name: output["data"] for name, output in named if name}
