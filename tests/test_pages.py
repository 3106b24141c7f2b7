"""The book's own directives: pictures of notebooks, heads of chapters."""

from __future__ import annotations

import base64

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from wavy.companion.pages.glued import PREFIX, glued_picture
from wavy.companion.pages.head import reading_minutes
from wavy.companion.paths import CompanionError

PICTURE = b"\x89PNG picture"


@pytest.fixture
def notebook(tmp_path):
    def glued(name, mime, value):
        return new_output("display_data", {PREFIX + mime: value}, metadata={"scrapbook": {"name": name}})

    outputs = [glued("figure", "image/png", base64.b64encode(PICTURE).decode()), glued("number", "text/plain", "3")]
    path = tmp_path / "waves.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell("x", outputs=outputs)]), path)
    return path


def test_a_glued_picture_is_found(notebook):
    assert glued_picture(notebook, "figure") == PICTURE


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("figur", r'waves.ipynb glues nothing under "figur" \(known: figure, number\)'),
        ("number", 'waves.ipynb glues no picture under "number"'),
    ],
)
def test_what_is_not_there_is_named(notebook, key, message):
    with pytest.raises(CompanionError, match=message):
        glued_picture(notebook, key)


def test_a_missing_notebook_is_named(tmp_path):
    with pytest.raises(CompanionError, match=r"there is no notebook seas\.ipynb"):
        glued_picture(tmp_path / "seas.ipynb", "figure")


def test_reading_time_grows_with_the_words_alone():
    words = "word " * 1500
    assert reading_minutes("word") == 1
    assert reading_minutes(words) == 10
    included = "```{literalinclude} ../wavy/dynamics.py\n:pyobject: mix\n```\n" * 200
    assert reading_minutes(included + ":name: fig\n" + words) == 10
