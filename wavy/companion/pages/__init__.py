"""The book's own directives, as a Sphinx extension: what no extension on the package index does."""

from __future__ import annotations

from sphinx.application import Sphinx

from wavy import __version__
from wavy.companion.pages import explorable
from wavy.companion.pages.claims import ClaimsTable
from wavy.companion.pages.equations import EquationTable
from wavy.companion.pages.figure import ComputedFigure
from wavy.companion.pages.head import ChapterHead


def setup(app: Sphinx) -> dict[str, object]:
    """Called by Sphinx."""
    app.add_directive("chapter-head", ChapterHead)
    app.add_directive("claims-table", ClaimsTable)
    app.add_directive("computed-figure", ComputedFigure)
    app.add_directive("equation-table", EquationTable)
    explorable.setup(app)
    return {"version": __version__, "parallel_read_safe": True}
