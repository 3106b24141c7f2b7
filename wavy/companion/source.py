"""From the text source ``NAME.md`` to a notebook that can be run, always to the very same one.

papermill cannot read .md files, and jupytext gives every cell a new random id at each reading. Here the ids follow
from position and source, and the metadata keeps only what the text source says (plus the kernel), so that a committed
reference never changes without a reason and can be compared with its source for equality.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import jupytext
import nbformat
import yaml
from jupytext.myst import MystMetadataParsingError
from nbformat import NotebookNode

from wavy.companion.paths import CompanionError

KERNELSPEC = {"display_name": "Python 3", "language": "python", "name": "python3"}
# No version: it would change with every Python release.
LANGUAGE_INFO = {"file_extension": ".py", "mimetype": "text/x-python", "name": "python", "pygments_lexer": "ipython3"}
# Written by tools: papermill and nbclient add paths and times, jupytext its own version.
NOTEBOOK_NOISE = ("papermill", "jupytext", "widgets")
CELL_NOISE = ("papermill", "execution", "ExecuteTime", "collapsed", "scrolled", "trusted")


def read_source(path: Path) -> NotebookNode:
    """Return the notebook that the text source at ``path`` (MyST Markdown) describes, without outputs.

    Raises:
        CompanionError: the header or a cell's options are no YAML.
    """
    try:
        return canonical(jupytext.read(path))
    except (MystMetadataParsingError, yaml.YAMLError) as error:
        raise CompanionError(f"{path.name} cannot be read as a notebook: {' '.join(str(error).split())}") from None


def canonical(nb: NotebookNode) -> NotebookNode:
    """Return a copy of ``nb`` without the metadata that tools add, and with ids that follow from its contents.

    Tags, tolerances and all other metadata of the source survive. Outputs keep only what the book shows.
    """
    nb = nbformat.from_dict(nb)
    nb.nbformat, nb.nbformat_minor = 4, 5
    nb.metadata = _without(nb.metadata, NOTEBOOK_NOISE)
    nb.metadata.update(nbformat.from_dict({"kernelspec": KERNELSPEC, "language_info": LANGUAGE_INFO}))
    for position, cell in enumerate(nb.cells):
        digest = hashlib.sha256(cell.source.encode()).hexdigest()[:8]
        cell.id = f"cell-{position:02d}-{digest}"
        cell.metadata = _without(cell.metadata, CELL_NOISE)
        if not cell.metadata.get("tags", True):
            del cell.metadata["tags"]  # papermill adds an empty list to every cell
    return nb


def code_cells(nb: NotebookNode) -> list[NotebookNode]:
    """Return the code cells that are run, that is all that are not empty.

    The k-th of them, counted from 1, is what messages call "code cell k" and what Jupyter shows as In [k].
    """
    return [cell for cell in nb.cells if cell.cell_type == "code" and cell.source.strip()]


def write_notebook(nb: NotebookNode) -> str:
    """Return ``nb`` as the text of an .ipynb file, ended by a newline."""
    return nbformat.writes(nb).rstrip("\n") + "\n"


def _without(metadata: NotebookNode, noise: tuple[str, ...]) -> NotebookNode:
    return nbformat.from_dict({key: value for key, value in metadata.items() if key not in noise})
