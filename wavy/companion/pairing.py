"""The committed notebook and its text source say the same.

``NAME.md`` is the source of truth; ``NAME.ipynb`` adds outputs and nothing else. Tags and ids can get lost on a round
trip through jupytext, and tools write paths and times into the metadata; both would show here as a difference.
"""

from __future__ import annotations

import nbformat
from nbformat import NotebookNode

from wavy.companion.checks import problems
from wavy.companion.parameters import find_model, read_parameters
from wavy.companion.paths import CompanionError, Layout
from wavy.companion.source import read_source

REMEDY = "run make reference"


def check_notebook(layout: Layout, name: str) -> list[str]:
    """Return one line for each thing wrong with the pair of notebook ``name`` and with its outputs."""
    path = layout.reference(name)
    if not path.is_file():
        return [f"{path.name} is missing: {REMEDY}"]
    if not layout.source(name).is_file():
        return [f"{path.name} has no source {name}.md"]
    committed, source = nbformat.read(path, as_version=4), read_source(layout.source(name))
    return differences(committed, source) + problems(committed) + _wrong_parameters(name, source)


def differences(committed: NotebookNode, source: NotebookNode) -> list[str]:
    """Return one line for each cell (or the metadata) in which the notebook is not what its source makes."""
    lines = []
    if committed.metadata != source.metadata:
        keys = sorted(
            key
            for key in {*committed.metadata, *source.metadata}
            if committed.metadata.get(key) != source.metadata.get(key)
        )
        lines.append(f"its metadata is not that of the source ({', '.join(keys)}): {REMEDY}")
    if len(committed.cells) != len(source.cells):
        return [*lines, f"it has {len(committed.cells)} cells, the source {len(source.cells)}: {REMEDY}"]
    for number, (cell, wanted) in enumerate(zip(committed.cells, source.cells, strict=True), start=1):
        parts = [part for part in ("cell_type", "source", "metadata", "id") if cell.get(part) != wanted[part]]
        if parts:
            lines.append(f"cell {number} (of all) differs from the source in {', '.join(parts)}: {REMEDY}")
    return lines


def _wrong_parameters(name: str, source: NotebookNode) -> list[str]:
    """The parameters cell must list the very fields of the experiment, with values that these allow."""
    try:
        defaults = read_parameters(source)
    except CompanionError as error:
        return [str(error)]
    model = find_model(name, defaults)
    if set(defaults) != set(model.model_fields):
        odd = ", ".join(sorted(set(defaults) ^ set(model.model_fields)))
        return [f"its parameters cell and the experiment {model.__name__} do not both have: {odd}"]
    try:
        model.model_validate(defaults)
    except ValueError as error:
        return ["its parameters cell: " + " ".join(str(error).split())]
    return []
