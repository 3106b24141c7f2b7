"""The directive ``explorable`` and the data it writes: no browser and no built book needed."""

import json

import numpy as np
import pytest
import torch
from sphinx.application import Sphinx
from sphinx.errors import SphinxWarning
from sphinx.util.docutils import docutils_namespace

from wavy.companion.figures import LABELS, PALETTE
from wavy.companion.pages.explorable import EXPLORABLES
from wavy.companion.pages.explorable_data import kinds_data, tokens_data, velocity_data
from wavy.diagnostics import spectral_gap
from wavy.layers import JointLayerNorm

BODY = "```{{explorable}} {name}\n![A picture](picture.png)\n\nThe caption.\n```\n"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A book of two pages, one without an interactive figure."""
    source = tmp_path_factory.mktemp("book")
    (source / "index.md").write_text("# Start\n\n```{toctree}\nfigures\n```\n")
    (source / "figures.md").write_text("# Figures\n\n" + "\n".join(BODY.format(name=name) for name in EXPLORABLES))
    (source / "picture.png").write_bytes(b"")
    return build(source)


def build(source):
    """Build all pages of a folder; warnings are errors."""
    out = source / "html"
    options = {"extensions": ["myst_parser", "wavy.companion.pages"], "html_theme": "basic"}
    with docutils_namespace():
        Sphinx(source, None, out, source / "trees", "html", options, status=None, warningiserror=True).build()
    return out


def test_a_page_holds_static_picture_caption_and_data(built):
    bs4 = pytest.importorskip("bs4")
    page = bs4.BeautifulSoup((built / "figures.html").read_text(encoding="utf8"), "html.parser")
    sections = page.select("section.explorable")
    assert [section["data-explorable"] for section in sections] == list(EXPLORABLES)
    for section in sections:
        assert section["aria-label"]
        assert section.img["alt"] == "A picture"
        assert "The caption." in section.get_text()
        data = json.loads(section.find("script", type="application/json").string)
        assert data == EXPLORABLES[section["data-explorable"]].data()


def test_only_pages_that_need_scripts_load_them(built):
    with_figures, without = ((built / f"{name}.html").read_text(encoding="utf8") for name in ("figures", "index"))
    for script in ("plotly.min.js", "explore/main.js", "explore/tokens.js", "explore/roots.js", "explore/velocity.js"):
        assert with_figures.count(script) == 1
        assert script not in without
    assert (built / "_static/plotly.min.js").stat().st_size > 1e6


def test_an_unknown_name_is_refused(tmp_path):
    (tmp_path / "index.md").write_text("# Start\n\n" + BODY.format(name="toekns"))
    with pytest.raises(SphinxWarning, match="found 'toekns', allowed tokens, roots, velocity"):
        build(tmp_path)


def test_kinds_are_drawn_as_in_all_other_figures():
    drawn = {kind["name"]: kind for kind in kinds_data()}
    assert {name: kind["label"] for name, kind in drawn.items()} == LABELS
    assert {name: kind["colour"] for name, kind in drawn.items()} == PALETTE
    assert len({kind["symbol"] for kind in drawn.values()}) == len(drawn)


def test_tokens_are_centred_principal_components_under_attention_with_a_gap():
    data = tokens_data()
    x0, attention = np.array(data["x0"]), torch.tensor(data["attention"], dtype=torch.float64)
    covariance = x0.T @ x0 / len(x0)
    assert np.abs(x0.mean(axis=0)).max() < 1e-3
    assert abs(covariance[0, 1]) < 1e-3
    assert covariance[0, 0] > covariance[1, 1]
    assert torch.allclose(attention.sum(dim=-1), torch.ones(len(x0), dtype=torch.float64))
    assert 0.2 < spectral_gap(attention) < 0.5  # some layers until all is smooth, yet not too many


def test_on_the_bare_velocity_ln_v_is_exact():
    data = velocity_data()
    x, velocity = (torch.tensor(data[name], dtype=torch.float64) for name in ("x", "velocity"))
    paper, exact = (JointLayerNorm(len(x), eps=data["eps"], exact=exact).double() for exact in (False, True))
    assert torch.allclose(paper(x, velocity)[1], exact(x, velocity)[1], atol=1e-12)
    assert paper(x, velocity)[1].norm() > 1
