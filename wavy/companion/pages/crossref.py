"""A link from a chapter to one of the book's notebooks."""

from __future__ import annotations

from docutils import nodes
from sphinx import addnodes


def notebook_link(docname: str, notebook: str, text: str) -> addnodes.pending_xref:
    """A link with the given text on page ``docname`` to the page of ``notebook``; Sphinx warns if there is none."""
    return addnodes.pending_xref(
        "",
        nodes.inline("", text),
        refdoc=docname,
        refdomain="std",
        reftype="doc",
        reftarget=f"/notebooks/{notebook}",
        refexplicit=True,
        refwarn=True,
    )
