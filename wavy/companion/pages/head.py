"""The directive ``chapter-head``: what a chapter teaches, what it found, and how long it takes to read and to run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from wavy.companion.pages.crossref import notebook_link
from wavy.companion.paths import Layout
from wavy.companion.run_times import read_run_times

WORDS_PER_MINUTE = 150  # slower than a novel: there are formulas

#: What is not read word by word: included code and the options of directives.
SKIPPED = re.compile(r"^```\{literalinclude\}(?:.*\n)*?```$|^:\w+:.*$", re.MULTILINE)


def reading_minutes(source: str) -> int:
    """Minutes to read a chapter's source, at least one; a formula counts as its symbols separated by spaces."""
    return max(1, round(len(SKIPPED.sub("", source).split()) / WORDS_PER_MINUTE))


class ChapterHead(SphinxDirective):
    """``NOTEBOOK``; the content is a list (what the reader will be able to do), then the summary in one paragraph."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = {}

    def run(self) -> list[nodes.Node]:
        layout = Layout(Path(self.env.srcdir) / "notebooks")
        notebook = layout.require(self.arguments[0])
        self.env.note_dependency(str(layout.notebooks / "run_times.json"))
        parsed = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, parsed)
        match parsed.children:
            case [nodes.bullet_list() as goals, nodes.paragraph() as summary]:
                pass
            case _:
                raise self.error("chapter-head: allowed is a list and then one paragraph")
        head = nodes.container(classes=["chapter-head"])
        head += [summary, nodes.paragraph("", "After this chapter you can", classes=["chapter-goals"]), goals]
        source = Path(self.env.doc2path(self.env.docname)).read_text(encoding="utf-8")
        head += self._times(notebook, reading_minutes(source), read_run_times(layout).get(notebook))
        return [head]

    def _times(self, notebook: str, minutes: int, seconds: int | None) -> nodes.paragraph:
        unit = "minute" if minutes == 1 else "minutes"
        times = nodes.paragraph("", f"Reading time: about {minutes} {unit}. ", classes=["chapter-times"])
        measured = f" runs in {seconds} seconds, measured on two cores." if seconds else " has not been timed yet."
        times += [notebook_link(self.env.docname, notebook, "Its computed part"), nodes.Text(measured)]
        return times
