"""Equations, code and tests name one another: what the chapters, the docstrings and the markers say must agree."""

from __future__ import annotations

import pytest

from conftest import ROOT
from wavy.companion.pages.equations import equation_table
from wavy.companion.pages.links import code_citing, code_named_in, equations, marked_tests

BOOK, PACKAGE, TESTS = ROOT / "book", ROOT / "wavy", ROOT / "tests"
KNOWN = equations(BOOK)


def test_every_cited_equation_is_in_the_book():
    cited = {**code_citing(PACKAGE), **marked_tests(TESTS)}
    assert {label: who for label, who in cited.items() if label not in KNOWN} == {}


@pytest.mark.parametrize("label", KNOWN)
def test_chapter_and_docstrings_name_each_other(label):
    named, citing = code_named_in(BOOK).get(label, set()), code_citing(PACKAGE).get(label, set())
    assert named == citing, f"{label}: the chapter names {sorted(named)}, docstrings that cite it: {sorted(citing)}"


@pytest.mark.parametrize("label", sorted(code_named_in(BOOK)))
def test_every_equation_with_code_has_a_test(label):
    assert marked_tests(TESTS).get(label), f"no test carries the marker equation({label!r})"


def test_the_links_are_read_from_all_three_sources(tmp_path):
    (tmp_path / "book").mkdir()
    (tmp_path / "pack").mkdir()
    (tmp_path / "book/one.md").write_text(
        "$$\na\n$$ (eq-a)\n\n{.code-link}\nCode: {py:func}`wavy.m.f`, {py:class}`wavy.m.C`\n"
    )
    (tmp_path / "pack/m.py").write_text('class C:\n    def g(self):\n        """It is :eq:`eq-a`."""\n')
    (tmp_path / "test_x.py").write_text("@pytest.mark.equation('eq-a', 'eq-b')\ndef test_it(): ...\n")
    assert equations(tmp_path / "book") == {"eq-a": "one"}
    assert code_named_in(tmp_path / "book") == {"eq-a": {"wavy.m.f", "wavy.m.C"}}
    assert code_citing(tmp_path / "pack") == {"eq-a": {"pack.m.C.g"}}
    assert marked_tests(tmp_path) == {"eq-a": {"test_x::test_it"}, "eq-b": {"test_x::test_it"}}


def test_code_without_an_equation_is_refused(tmp_path):
    (tmp_path / "one.md").write_text("Code: {py:func}`wavy.m.f`\n")
    with pytest.raises(ValueError, match="follows no numbered equation"):
        code_named_in(tmp_path)


def test_the_table_has_a_row_for_every_equation():
    chapters = list(dict.fromkeys(KNOWN.values()))
    assert len(equation_table(ROOT, chapters)) == 3 + len(KNOWN)
