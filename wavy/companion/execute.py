"""``wavy execute``: run every notebook whose outputs may have changed, and compare with the committed references.

The book renders the committed notebooks and runs nothing itself; this step in front of the build tells whether what it
will show is what the code gives today.
"""

from __future__ import annotations

from time import monotonic

import nbformat
import typer

from wavy.companion import TIME_LIMIT, ledger
from wavy.companion.comparer import compare_notebooks
from wavy.companion.execution import DataMissingError, execute
from wavy.companion.paths import Layout
from wavy.companion.source import read_source


def execute_all(layout: Layout, timeout: float = TIME_LIMIT) -> bool:
    """Run all notebooks in turn, one progress line each, and return whether none failed.

    A notebook whose outputs differ from its reference, or that has none, or whose data cannot be had, does not count as
    failed; it is named again at the end.

    Args:
        layout: the checkout.
        timeout: time limit in seconds for each notebook.
    """
    names, failed, notes = layout.names(), [], []
    for number, name in enumerate(names, start=1):
        typer.echo(f"[{number}/{len(names)}] {name}  ", nl=False)
        state = ledger.state(layout, name)
        if state == ledger.recorded(layout, name):
            typer.echo("skipped: unchanged since its last good run (outputs equal)")
            continue
        try:
            lines = _execute_one(layout, name, timeout)
        except DataMissingError as error:
            notes.append(f"{name} was not executed: {error}")
            typer.echo(f"not executed: {error}")
        except ValueError as error:  # a failed run, or a source that means nothing
            failed.append(name)
            typer.echo(f"failed: {error}")
        else:
            if lines:
                notes.append(f"{name}: {lines[0]}" + (f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""))
            else:
                ledger.record(layout, name, state, by="papermill")
    for note in notes:
        typer.echo(f"Note: {note}")
    if failed:
        typer.echo(f"Failed: {', '.join(failed)}")
    return not failed


def _execute_one(layout: Layout, name: str, timeout: float) -> list[str]:
    """Run one notebook, end its progress line, and return what differs from the reference."""
    begun = monotonic()
    source = read_source(layout.source(name))
    fresh = execute(source, layout.build / "executed" / f"{name}.ipynb", layout.notebooks, timeout=timeout)
    path = layout.reference(name)
    if path.is_file():
        lines = compare_notebooks(nbformat.read(path, as_version=4), fresh)
    else:
        lines = [f"there is no reference {path.name}: run make reference"]
    verdict = f"differs: {lines[0]}" if lines else "outputs equal the reference within tolerance"
    typer.echo(f"executed in {monotonic() - begun:.0f} s: {verdict}")
    for line in lines[1:3]:
        typer.echo(f"    {line}")
    return lines
