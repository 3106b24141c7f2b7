"""Compare the outputs of a fresh run with those of the committed reference.

One rule for ``pytest --nbval``, ``wavy execute`` and ``wavy reference``: the same streams (stdout and stderr are told
apart), the same number of other outputs in the same order, of the same type and with the same formats; texts compared
by ``numeric_text``. Images are not compared, since fonts and hashes change between versions of matplotlib; instead
every cell with an image must print its data (see ``checks``).
"""

from __future__ import annotations

import json

from nbformat import NotebookNode

from wavy.companion.numeric_text import Tolerance, compare_text
from wavy.companion.source import code_cells

UNCOMPARED = ("image/", "widget-view")  # in the name of formats of which only the presence is compared


def compare_outputs(expected: list[NotebookNode], found: list[NotebookNode], tolerance: Tolerance) -> str | None:
    """Return None if the outputs of one cell agree, otherwise one line on the first difference."""
    streams = _streams(expected), _streams(found)
    for name in sorted(set(streams[0]) | set(streams[1])):
        a, b = (texts.get(name) for texts in streams)
        if (a is None) != (b is None):
            return f"{name}: " + (f"missing, expected {_head(a)}" if b is None else f"unexpected {_head(b)}")
        if a is not None and (difference := compare_text(a, b, tolerance)):
            return f"{name}: {difference}"
    displays = [output for output in expected if output.output_type != "stream"]
    fresh = [output for output in found if output.output_type != "stream"]
    for position, (a, b) in enumerate(zip(displays, fresh, strict=False), start=1):
        if difference := _compare_display(a, b, tolerance):
            return f"output {position}: {difference}"
    if len(displays) != len(fresh):
        return f"{len(displays)} outputs (without streams) expected, {len(fresh)} found"
    return None


def compare_notebooks(reference: NotebookNode, fresh: NotebookNode) -> list[str]:
    """Return one line for each code cell whose outputs, or source, differ; an empty list if all agree."""
    cells = code_cells(reference), code_cells(fresh)
    if len(cells[0]) != len(cells[1]):
        return [f"the reference has {len(cells[0])} code cells, the source {len(cells[1])}: run make reference"]
    lines = []
    for number, (a, b) in enumerate(zip(*cells, strict=True), start=1):
        if a.source != b.source:
            lines.append(f"code cell {number}: its source changed since the reference was made: run make reference")
        elif difference := compare_outputs(a.outputs, b.outputs, Tolerance.of_cell(b.metadata)):
            lines.append(f"code cell {number}: {difference}")
    return lines


def _streams(outputs: list[NotebookNode]) -> dict[str, str]:
    """Return the whole text of each stream: where a kernel cuts a stream into messages is chance."""
    texts: dict[str, str] = {}
    for output in outputs:
        if output.output_type == "stream":
            texts[output.name] = texts.get(output.name, "") + output.text
    return texts


def _compare_display(expected: NotebookNode, found: NotebookNode, tolerance: Tolerance) -> str | None:
    if expected.output_type != found.output_type:
        return f"expected {expected.output_type}, found {found.output_type}"
    if expected.output_type == "error":
        a, b = (f"{error.ename}: {error.evalue}" for error in (expected, found))
        return compare_text(a, b, tolerance)
    if set(expected.data) != set(found.data):
        return f"expected the formats {', '.join(sorted(expected.data))}, found {', '.join(sorted(found.data))}"
    for mime in sorted(expected.data):
        if any(part in mime for part in UNCOMPARED):
            continue
        if difference := compare_text(_text(expected.data[mime]), _text(found.data[mime]), tolerance):
            return f"{mime}: {difference}"
    return None


def _text(data: object) -> str:
    return data if isinstance(data, str) else json.dumps(data, sort_keys=True, indent=1)


def _head(text: str) -> str:
    return repr(text.strip().partition("\n")[0][:100])
