"""Compare the outputs of a fresh run with those of the committed reference.

One rule for ``pytest --nbval``, ``wavy execute`` and ``wavy reference``: the same displays (all outputs but streams) in
the same order, of the same type, with the same formats and metadata (by which the book finds glued values); before,
between and behind them the same streams (stdout and stderr are told apart); texts compared by ``numeric_text``.

Images are not compared, since fonts and hashes change between versions of matplotlib; instead every cell with an image
must print its data (see ``checks``).
"""

from __future__ import annotations

import json

from nbformat import NotebookNode

from wavy.companion.numeric_text import Tolerance, compare_text
from wavy.companion.source import code_cells

UNCOMPARED = ("image/", "widget-view")  # in the name of formats of which only the presence is compared


def compare_outputs(expected: list[NotebookNode], found: list[NotebookNode], tolerance: Tolerance) -> str | None:
    """Return None if the outputs of one cell agree, otherwise one line on the first difference."""
    (displays, streams), (fresh, fresh_streams) = _parts(expected), _parts(found)
    for position in range(min(len(streams), len(fresh_streams))):
        if position and (difference := _compare_display(displays[position - 1], fresh[position - 1], tolerance)):
            return f"output {position}: {difference}"
        if difference := _compare_streams(streams[position], fresh_streams[position], tolerance):
            return (f"after output {position}, " if position else "") + difference
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


def _parts(outputs: list[NotebookNode]) -> tuple[list[NotebookNode], list[dict[str, str]]]:
    """Return the displays, and the text of each stream before the first of them, behind the first, and so on.

    Where a kernel cuts a stream into messages, and how stdout and stderr interleave, is chance; on which side of a
    display a text stands is not, since the kernel flushes the streams before each display.
    """
    displays: list[NotebookNode] = []
    streams: list[dict[str, str]] = [{}]
    for output in outputs:
        if output.output_type == "stream":
            streams[-1][output.name] = streams[-1].get(output.name, "") + output.text
        else:
            displays.append(output)
            streams.append({})
    return displays, streams


def _compare_streams(expected: dict[str, str], found: dict[str, str], tolerance: Tolerance) -> str | None:
    for name in sorted({*expected, *found}):
        if name not in found:
            return f"{name}: missing, expected {_head(expected[name])}"
        if name not in expected:
            return f"{name}: unexpected {_head(found[name])}"
        if difference := compare_text(expected[name], found[name], tolerance):
            return f"{name}: {difference}"
    return None


def _compare_display(expected: NotebookNode, found: NotebookNode, tolerance: Tolerance) -> str | None:
    if expected.output_type != found.output_type:
        return f"expected {expected.output_type}, found {found.output_type}"
    if expected.output_type == "error":
        a, b = (f"{error.ename}: {error.evalue}" for error in (expected, found))
        return compare_text(a, b, tolerance)
    if set(expected.data) != set(found.data):
        return f"expected the formats {', '.join(sorted(expected.data))}, found {', '.join(sorted(found.data))}"
    metadata = [output.get("metadata", {}) for output in (expected, found)]
    if metadata[0] != metadata[1]:
        return "metadata: expected {}, found {}".format(*map(json.dumps, metadata))
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
