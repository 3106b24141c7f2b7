"""What a committed, executed notebook must be by itself, before anything is run again.

nbval passes a notebook whose cells were never run, does not look at error outputs, and can be switched off by a tag in
the notebook. These checks close the gaps; they also refuse what cannot be equal on another machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nbformat import NotebookNode
from nbval.plugin import find_comment_markers, find_metadata_tags

from wavy.companion.numeric_text import NUMBER, Tolerance
from wavy.companion.source import code_cells
from wavy.companion.statements import NOT_SO

MACHINE_BOUND = {
    "a memory address": re.compile(r"\bat 0x[0-9a-f]{6,}"),
    "an absolute path": re.compile(r"(?<![\w./<:+=,*-])/(?:[\w.+-]+/)+[\w.+-]+|\b[A-Za-z]:\\\w+"),
}
DRAWING = re.compile(r"<(?:img|svg|script|canvas)\b", re.IGNORECASE)
TAG = re.compile(r"<[^>]*>")
# What drawing calls leave as the value of a cell's last line; it says nothing about the data.
ECHO = re.compile(r"^(?:<.*>|Text\(.*\)|\[<.*)$", re.DOTALL)


def problems(nb: NotebookNode) -> list[str]:
    """Return one line for each thing that keeps ``nb`` from being a valid reference; an empty list if it is one."""
    lines = []
    for number, cell in enumerate(code_cells(nb), start=1):
        lines += [f"code cell {number} {line}" for line in _of_cell(cell, number)]
    return lines


def _of_cell(cell: NotebookNode, number: int) -> Iterator[str]:
    if cell.execution_count != number:
        yield f"has the execution count {cell.execution_count}, not {number}: it was not run in order in a fresh kernel"
    if [*find_metadata_tags(cell.metadata), *find_comment_markers(cell.source)]:
        yield "carries a mark that switches nbval's comparison off; give it a tolerance instead"
    if cell.source.rstrip().endswith(";"):
        yield "ends with a semicolon, which nbval does not heed; end a plot with plt.show()"
    try:
        Tolerance.of_cell(cell.metadata)
    except ValueError as error:
        yield f"has bad metadata: {error}"
    for output in cell.outputs:
        if output.get("execution_count", cell.execution_count) != cell.execution_count:
            yield f"has the execution count {cell.execution_count}, its output {output.execution_count}"
        yield from _of_output(output)
    if any(_is_image(output) for output in cell.outputs) and not any(map(_is_summary, cell.outputs)):
        yield "shows an image but prints no number beside it; images are not compared, so print what is drawn"


def _of_output(output: NotebookNode) -> Iterator[str]:
    if output.output_type == "error":
        yield f"holds the error {output.ename}: {output.evalue}"
    if output.get("name") == "stdout" and NOT_SO in output.text:
        yield f"finds a statement of the text untrue: {output.text.partition(NOT_SO)[2].splitlines()[0]}"
    if output.get("name") == "stderr":
        yield f"writes to stderr, which differs between machines: {output.text.strip().splitlines()[:1]}"
    for text in _texts(output):
        for what, pattern in MACHINE_BOUND.items():
            if found := pattern.search(text):
                yield f"prints {what}: {found[0]}"


def _texts(output: NotebookNode) -> list[str]:
    if output.output_type == "stream":
        return [output.text]
    data = output.get("data", {})
    return [text for mime, text in data.items() if "text/" in mime and isinstance(text, str)]


def _is_image(output: NotebookNode) -> bool:
    data = output.get("data", {})
    return any("image/" in mime for mime in data) or DRAWING.search(data.get("text/html", "")) is not None


def _is_summary(output: NotebookNode) -> bool:
    """Whether an output tells numbers in words or a table, beside any image."""
    if _is_image(output) or output.get("name") == "stderr":
        return False
    data = output.get("data", {})
    shown = [output.get("text", ""), TAG.sub(" ", data.get("text/html", ""))]
    if not ECHO.match(data.get("text/plain", "").strip()):
        shown.append(data.get("text/plain", ""))
    return any(map(NUMBER.search, shown))
