"""The directive ``equation-table``: every numbered equation with the code that computes it and its tests."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from wavy.companion.pages.links import code_named_in, equations, marked_tests


def equation_table(root: Path, order: list[str]) -> list[str]:
    """The table as lines of MyST, chapters in the given order of stems."""
    code, tests = code_named_in(root / "book"), marked_tests(root / "tests")
    known = equations(root / "book")
    rows = ["{.equation-table}", "| Equation | Code | Tests |", "|:--|:--|:--|"]
    for chapter in order:
        for label in (label for label, stem in known.items() if stem == chapter):
            objects = ", ".join(f"{{py:obj}}`~{name}`" for name in sorted(code.get(label, ()))) or "–"
            checks = ", ".join(f"`{name.partition('::')[2]}`" for name in sorted(tests.get(label, ()))) or "–"
            rows.append(f"| {{eq}}`{label}` | {objects} | {checks} |")
    return rows


class EquationTable(SphinxDirective):
    """No arguments; reads the chapters, the docstrings and the tests each time the book is built."""

    option_spec: ClassVar = {}

    def run(self) -> list[nodes.Node]:
        self.env.note_reread()  # it depends on all chapters and tests
        root = Path(self.env.srcdir)
        order = [Path(name).name for name in self.config.external_site_map if name.startswith("book/")]
        lines = equation_table(root, order)
        parsed = nodes.Element()
        self.state.nested_parse(StringList(lines, self.get_source_info()[0]), self.content_offset, parsed)
        return parsed.children
