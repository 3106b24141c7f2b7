"""The committed notebook and its text source say the same.

``NAME.md`` is the source of truth; ``NAME.ipynb`` adds outputs and nothing else. Tags and ids can get lost on a round
trip through jupytext, and tools write paths and times into the metadata; both would show here as a difference.
"""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.validator import iter_validate

from wavy.companion.checks import problems
from wavy.companion.messages import one_line
from wavy.companion.parameters import find_model, read_parameters
from wavy.companion.paths import CompanionError, Layout
from wavy.companion.source import read_source

REMEDY = "run make reference"
ADDED_BY_A_RUN = {"outputs", "execution_count"}  # the only keys of a cell that the source does not determine


def check_notebook(layout: Layout, name: str) -> list[str]:
    """Return one line for each thing wrong with the pair of notebook ``name`` and with its outputs."""
    path = layout.reference(name)
    if not path.is_file():
        return [f"{path.name} is missing: {REMEDY}"]
    if not layout.source(name).is_file():
        return [f"{path.name} has no source {name}.md"]
    if line := _invalid(path):
        return [line]
    committed, source = nbformat.read(path, as_version=4), read_source(layout.source(name))
    return differences(committed, source) + problems(committed) + _wrong_parameters(name, source)


def _invalid(path: Path) -> str | None:
    """Judge the file as it stands: ``nbformat.read`` and ``validate`` repair some faults in silence."""
    try:
        error = next(iter_validate(json.loads(path.read_bytes()), version=4, version_minor=5), None)
    except ValueError as broken:  # no JSON
        error = broken
    return f"it is no valid notebook: {one_line(error)[:200]}" if error else None


def differences(committed: NotebookNode, source: NotebookNode) -> list[str]:
    """Return one line for each cell (or key of the notebook) in which the notebook is not what its source makes."""
    lines = [
        f"its {key} is not that of the source: {REMEDY}"
        for key in sorted({*committed, *source} - {"cells", "metadata"})
        if committed.get(key) != source.get(key)
    ]
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
        parts = [key for key in sorted({*cell, *wanted} - ADDED_BY_A_RUN) if cell.get(key) != wanted.get(key)]
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
        return [f"its parameters cell: {one_line(error)}"]
    return []
