"""Ways to falsify a committed notebook. Each changes the notebook in place, or raises NotApplicableError."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import combinations, pairwise
from typing import TypeVar

from nbformat import NotebookNode

from wavy.companion.numeric_text import Tolerance
from wavy.companion.source import code_cells

DECIMAL = re.compile(r"(?<![\w.#])\d+\.\d+(?![\w.])")
CELL = re.compile(r"(<td[^>]*>)([^<]+)")
T = TypeVar("T")
TEXTS = ("text/plain", "text/html")


class NotApplicableError(Exception):
    """The notebook has no element that this tampering could change."""


def digit(nb: NotebookNode) -> None:
    """The leading digit of a number becomes another one."""
    _edit_first(nb, _change_number)


def dropped_output(nb: NotebookNode) -> None:
    _first(cell for cell in code_cells(nb) if cell.outputs).outputs.pop(0)


def added_output(nb: NotebookNode) -> None:
    cell = _first(cell for cell in code_cells(nb) if cell.outputs)
    cell.outputs.append(NotebookNode(output_type="stream", name="stdout", text="one more line\n"))


def cleared(nb: NotebookNode) -> None:
    """All outputs and counts are gone, as after Kernel > Restart and clear."""
    for cell in _some(code_cells(nb)):
        cell.outputs, cell.execution_count = [], None


def dropped_count(nb: NotebookNode) -> None:
    _some(code_cells(nb))[-1].execution_count = None


def swapped_counts(nb: NotebookNode) -> None:
    if len(cells := code_cells(nb)) < 2:
        raise NotApplicableError
    cells[0].execution_count, cells[1].execution_count = cells[1].execution_count, cells[0].execution_count


def table_cell(nb: NotebookNode) -> None:
    """One <td> of an HTML table says something else."""
    _edit_first(nb, lambda text, tolerance: CELL.sub(r"\1never seen", text, count=1), "text/html")


def verdict(nb: NotebookNode) -> None:
    """A claim that holds is said not to hold, and one with any other verdict to hold."""
    swapped = {"holds": "does not hold"}
    any_verdict = r"\b(holds|does not hold|inconclusive|not tested at this scale)\b"
    _edit_first(
        nb,
        lambda text, tolerance: re.sub(any_verdict, lambda found: swapped.get(found[0], "holds"), text, count=1),
    )


def stdout_as_stderr(nb: NotebookNode) -> None:
    outputs = (output for cell in code_cells(nb) for output in cell.outputs)
    _first(output for output in outputs if output.get("name") == "stdout").name = "stderr"


def figure_summary(nb: NotebookNode) -> None:
    """A number printed beside a figure changes."""
    _edit_first(_with_image(nb), _change_number)


def figure_without_summary(nb: NotebookNode) -> None:
    """Only the image is left of what a cell shows."""
    cell = _some(code_cells(_with_image(nb)))[0]
    images = [output for output in cell.outputs if _is_image(output)]
    if images == cell.outputs:
        raise NotApplicableError
    cell.outputs = images


def error_output(nb: NotebookNode) -> None:
    cell = _some(code_cells(nb))[-1]
    cell.outputs.append(NotebookNode(output_type="error", ename="ValueError", evalue="no", traceback=[]))


def edited_code(nb: NotebookNode) -> None:
    """Code that gives the same outputs, but is not that of the source."""
    _some(code_cells(nb))[0].source += "  # edited"


def swapped_glue(nb: NotebookNode) -> None:
    """Two glued values exchange their names, so that the book quotes each in the place of the other."""
    pairs = combinations(_glued(nb), 2)
    one, other = _first((a, b) for a, b in pairs if set(a.data) == set(b.data))
    one.metadata, other.metadata = other.metadata, one.metadata


def dropped_glue_name(nb: NotebookNode) -> None:
    del _some(_glued(nb))[0].metadata["scrapbook"]


def moved_stream(nb: NotebookNode) -> None:
    """The last line printed before a display stands behind it."""
    places = (
        (cell.outputs, k)
        for cell in code_cells(nb)
        for k, (a, b) in enumerate(pairwise(cell.outputs))
        if a.output_type == "stream" != b.output_type
    )
    outputs, place = _first(places)
    *kept, moved = outputs[place].text.splitlines(keepends=True)
    outputs.insert(place + 2, NotebookNode(outputs[place], text=moved))
    outputs[place].text = "".join(kept)
    if not kept:
        del outputs[place]


TAMPERINGS: dict[str, Callable[[NotebookNode], None]] = {
    function.__name__: function
    for function in (
        digit,
        dropped_output,
        added_output,
        cleared,
        dropped_count,
        swapped_counts,
        table_cell,
        verdict,
        stdout_as_stderr,
        figure_summary,
        figure_without_summary,
        error_output,
        edited_code,
        swapped_glue,
        dropped_glue_name,
        moved_stream,
    )
}


def _change_number(text: str, tolerance: Tolerance) -> str:
    """Change the leading digit of the first number for which that is beyond the tolerance."""
    for match in DECIMAL.finditer(text):
        number = match[0]
        changed = ("9" if number[0] < "5" else "1") + number[1:]
        if not tolerance.accepts(number, changed):
            return text[: match.start()] + changed + text[match.end() :]
    return text


def _edit_first(nb: NotebookNode, edit: Callable[[str, Tolerance], str], *formats: str) -> None:
    """Apply ``edit`` to the first output text that it changes."""
    for cell in code_cells(nb):
        tolerance = Tolerance.of_cell(cell.metadata)
        for holder, key in _places(cell, formats or ("text", *TEXTS)):
            changed = edit(holder[key], tolerance)
            if changed != holder[key]:
                holder[key] = changed
                return
    raise NotApplicableError


def _places(cell: NotebookNode, formats: tuple[str, ...]) -> Iterator[tuple[NotebookNode, str]]:
    for output in cell.outputs:
        for holder in (output, output.get("data", {})):
            yield from ((holder, key) for key in formats if key in holder)


def _with_image(nb: NotebookNode) -> NotebookNode:
    return NotebookNode(cells=[cell for cell in code_cells(nb) if any(map(_is_image, cell.outputs))])


def _glued(nb: NotebookNode) -> list[NotebookNode]:
    outputs = (output for cell in code_cells(nb) for output in cell.outputs)
    return [output for output in outputs if "scrapbook" in output.get("metadata", {})]


def _is_image(output: NotebookNode) -> bool:
    return any("image/" in mime for mime in output.get("data", {}))


def _some(items: list) -> list:
    if not items:
        raise NotApplicableError
    return items


def _first(items: Iterator[T]) -> T:
    return _some(list(items))[0]
