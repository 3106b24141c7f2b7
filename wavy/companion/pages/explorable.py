"""The directive ``{explorable}``: an interactive figure with a static picture where scripts are off.

The body is MyST. Its pictures give way to the interactive figure when the script has started; everything else in it,
such as the caption, stays, so it must be true of both. Scripts and data are added to the pages that need them, and
nothing is fetched: they are classic scripts, since a browser refuses modules on pages opened from a folder.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import plotly
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util.docutils import SphinxDirective

from wavy.companion.pages.explorable_data import roots_data, tokens_data, velocity_data

PLOTLY = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"


@dataclass(frozen=True)
class Kind:
    """One interactive figure.

    Args:
        label: what it shows, for one who cannot see it.
        data: computes what its script is given.
        scripts: the files of ``book/_static/explore`` that it needs, in order, beside those that all need.
    """

    label: str
    data: Callable[[], dict]
    scripts: tuple[str, ...]


EXPLORABLES = {
    "tokens": Kind(
        "Interactive figure: sixteen tokens under the residual kinds, layer by layer",
        tokens_data,
        ("dynamics", "measures", "player", "tokens"),
    ),
    "roots": Kind(
        "Interactive figure: the roots z of a mode, and its amplitude against depth",
        roots_data,
        ("dynamics", "spectrum", "regimes", "roots"),
    ),
    "velocity": Kind(
        "Interactive figure: velocity LayerNorm and FFN of a small layer, compared with exact derivatives",
        velocity_data,
        ("layers", "velocity"),
    ),
}


class explorable(nodes.General, nodes.Element):  # noqa: N801 - docutils finds the visitors by this name
    """An interactive figure, whose children are the static picture and the caption."""


class ExplorableDirective(SphinxDirective):
    """``{explorable} NAME``, with one of :data:`EXPLORABLES` as NAME."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        self.assert_has_content()
        name = self.arguments[0]
        if name not in EXPLORABLES:
            raise self.error(f"explorable: found {name!r}, allowed {', '.join(EXPLORABLES)}")
        node = explorable(name=name)
        self.set_source_info(node)
        self.state.nested_parse(self.content, self.content_offset, node)
        return [node]


def visit_explorable(translator: nodes.NodeVisitor, node: explorable) -> None:
    label = EXPLORABLES[node["name"]].label
    start = f'<section class="explorable" data-explorable="{node["name"]}" aria-label="{label}">\n'
    translator.body.append(start)


def depart_explorable(translator: nodes.NodeVisitor, node: explorable) -> None:
    # "<" within JSON could only stand in a string; escaped, it can never end the script element.
    data = json.dumps(EXPLORABLES[node["name"]].data()).replace("<", "\\u003c")
    translator.body.append(f'<script type="application/json">{data}</script>\n</section>\n')


def add_scripts(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """Add to a page that holds interactive figures the scripts and the style that these need."""
    names = dict.fromkeys(node["name"] for node in doctree.findall(explorable)) if doctree else {}
    if not names:
        return
    own = dict.fromkeys(script for name in names for script in EXPLORABLES[name].scripts)
    app.add_css_file("explore.css")
    app.add_js_file(PLOTLY.name, loading_method="defer")
    for script in ("format", "controls", "plot", *own, "main"):
        app.add_js_file(f"explore/{script}.js", loading_method="defer")


def serve_plotly(app: Sphinx, config: Config) -> None:
    """Let Sphinx copy the script of the installed Plotly into ``_static``."""
    config.html_static_path.append(str(PLOTLY))


def setup(app: Sphinx) -> dict:
    """Register the directive with Sphinx."""
    app.add_node(explorable, html=(visit_explorable, depart_explorable))
    app.add_directive("explorable", ExplorableDirective)
    app.connect("config-inited", serve_plotly)
    app.connect("html-page-context", add_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
