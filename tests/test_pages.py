"""The book's own directives: pictures of notebooks, heads of chapters."""

from __future__ import annotations

import base64

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from wavy.companion.claim_verdicts import claim_key, verdicts_on
from wavy.companion.claims import load_claims
from wavy.companion.pages.claims import JUDGING, NOT_RUN, counts_of, found_verdicts, table_of
from wavy.companion.pages.glued import PREFIX, glued_picture, glued_words
from wavy.companion.pages.head import reading_minutes
from wavy.companion.paths import CompanionError, Layout

PICTURE = b"\x89PNG picture"


@pytest.fixture
def notebook(tmp_path):
    def glued(name, mime, value):
        return new_output("display_data", {PREFIX + mime: value}, metadata={"scrapbook": {"name": name}})

    outputs = [glued("figure", "image/png", base64.b64encode(PICTURE).decode()), glued("number", "text/plain", "3")]
    outputs += [glued("claim_a_b", "text/plain", "'holds'"), glued("claim_a_b_in_GPT__2", "text/plain", '"isn\'t run"')]
    path = tmp_path / "waves.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell("x", outputs=outputs)]), path)
    return path


def test_a_glued_picture_is_found(notebook):
    assert glued_picture(notebook, "figure") == PICTURE


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("figur", r'waves.ipynb glues nothing under "figur" \(known: figure, number, claim'),
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


def test_glued_words_are_the_strings_alone(notebook):
    assert glued_words(notebook) == {"claim_a_b": "holds", "claim_a_b_in_GPT__2": "isn't run"}


def test_a_verdict_is_found_under_the_key_of_its_claim_and_model(notebook):
    glued = glued_words(notebook)
    assert claim_key("a-b", "GPT-2") in glued
    assert verdicts_on("a-b", glued) == {"": "holds", "GPT-2": "isn't run"}
    assert verdicts_on("a", glued) == verdicts_on("a-b-in", glued) == {}


def test_the_table_of_claims_has_each_claim_once_and_all_its_verdicts():
    claims = load_claims("cv").loc[["deit-full", "deit-light"]]
    glued = {"one": {claim_key("deit-full"): "holds"}, "two": {claim_key("deit-full", "CaiT"): "inconclusive"}}
    found = found_verdicts(claims.index, glued)
    rows = table_of(claims, found)[3:]
    assert len(rows) == 2
    assert "[holds](/notebooks/one.ipynb); CaiT: [inconclusive](/notebooks/two.ipynb)" in rows[0]
    assert "72.17 → 72.33 %" in rows[0]
    assert NOT_RUN in rows[1]
    assert counts_of(claims, found) == f"2 claims, 2 verdicts: 1 *holds*, 1 *inconclusive*, 1 *{NOT_RUN}*."
    assert counts_of(claims.iloc[:1], found) == "1 claims, 2 verdicts: 1 *holds*, 1 *inconclusive*."
    assert counts_of(claims, found[:0]) == f"2 claims: 2 *{NOT_RUN}*."


def test_every_claim_of_the_paper_has_a_verdict_in_a_notebook():
    claims = load_claims().query("source == 'paper'").index
    notebooks = Layout.find().notebooks
    found = found_verdicts(claims, {name: glued_words(notebooks / f"{name}.ipynb") for name in JUDGING})
    assert set(found["claim"]) == set(claims)
