"""``wavy reference``: execute notebooks anew and put the results in the place of the committed references.

The only thing that writes notebooks/*.ipynb. A run that fails, or whose outputs could not be equal on another machine,
leaves the former reference as it is.
"""

from __future__ import annotations

from time import monotonic

import nbformat
import typer

from wavy.companion import TIME_LIMIT, ledger
from wavy.companion.checks import problems
from wavy.companion.comparer import compare_notebooks
from wavy.companion.execution import execute
from wavy.companion.pairing import check_notebook
from wavy.companion.paths import CompanionError, Layout, write_atomically
from wavy.companion.run_times import record_run_time
from wavy.companion.source import canonical, read_source, write_notebook


def make_reference(layout: Layout, name: str, timeout: float = TIME_LIMIT) -> str:
    """Execute notebook ``name`` at its default parameters, write its reference, and return a line on what changed.

    Raises:
        CompanionError: the run failed or its outputs cannot serve as a reference; nothing was overwritten.
    """
    layout.require(name)
    before = ledger.state(layout, name)
    draft = layout.build / "reference" / f"{name}.ipynb"
    begun = monotonic()
    nb = canonical(execute(read_source(layout.source(name)), draft, layout.notebooks, timeout=timeout))
    seconds = monotonic() - begun
    if wrong := problems(nb):
        raise CompanionError("\n    ".join(["not written, see " + str(draft), *wrong]))
    path = layout.reference(name)
    former = nbformat.read(path, as_version=4) if path.is_file() else None
    write_atomically(path, write_notebook(nb))
    record_run_time(layout, name, seconds)
    after = ledger.state(layout, name)
    if after["inputs"] == before["inputs"]:
        ledger.record(layout, name, after, by="papermill")
    if former is None:
        return "written"
    changed = compare_notebooks(former, nb)
    return f"written; {len(changed)} changes beyond tolerance" + (f", first: {changed[0]}" if changed else "")


def make_references(layout: Layout, names: list[str], timeout: float = TIME_LIMIT) -> bool:
    """Make the references of ``names`` (default: all), one progress line each; return whether all were written."""
    names = [layout.require(name) for name in names] or layout.names()
    good = True
    for number, name in enumerate(names, start=1):
        typer.echo(f"[{number}/{len(names)}] {name}  ", nl=False)
        try:
            typer.echo(make_reference(layout, name, timeout))
        except CompanionError as error:
            good = False
            typer.echo(f"failed: {error}")
    return good


def check_references(layout: Layout) -> bool:
    """Check every pair of source and reference without running anything; return whether all are in order."""
    names = sorted({*layout.names(), *(path.stem for path in layout.notebooks.glob("*.ipynb"))})
    wrong = {name: check_notebook(layout, name) for name in names}
    for name, lines in wrong.items():
        for line in lines or ["in order"]:
            typer.echo(f"{name}: {line}")
    return not any(wrong.values())
