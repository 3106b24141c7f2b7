"""The directive ``computed-figure``: a picture of a notebook, with description, caption, number and link to its code.

MyST-NB's own ``glue`` across pages drops the description for those who cannot see the picture.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from wavy.companion.pages.crossref import notebook_link
from wavy.companion.pages.glued import glued_picture
from wavy.companion.paths import CompanionError

FOLDER = Path("_build/figures")


class ComputedFigure(SphinxDirective):
    """``NOTEBOOK::KEY`` with the options ``alt`` (required) and ``name``; the content is the caption."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = {"alt": directives.unchanged_required, "name": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        notebook, _, key = self.arguments[0].partition("::")
        path = Path(self.env.srcdir) / "notebooks" / f"{notebook}.ipynb"
        if not self.options.get("alt") or not self.content:
            raise self.error(f"computed-figure {self.arguments[0]} needs the option alt and a caption")
        try:
            picture = glued_picture(path, key)
        except CompanionError as error:
            raise self.error(str(error)) from None
        self.env.note_dependency(str(path))
        figure = nodes.figure()
        figure += nodes.image(uri="/" + self._file(notebook, key, picture).as_posix(), alt=self.options["alt"])
        figure += self._caption(notebook)
        self.set_source_info(figure)
        self.add_name(figure)
        return [figure]

    def _file(self, notebook: str, key: str, picture: bytes) -> Path:
        """Write the picture below the source folder; a name that follows its contents spares pages an old one."""
        file = FOLDER / f"{notebook}-{key}-{hashlib.sha256(picture).hexdigest()[:8]}.png"
        target = Path(self.env.srcdir) / file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(picture)
        return file

    def _caption(self, notebook: str) -> nodes.caption:
        parsed = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, parsed)
        caption = nodes.caption("", "", *parsed.children[0].children)
        caption += [nodes.Text(" "), notebook_link(self.env.docname, notebook, "Code.")]
        return caption
