"""What a notebook's text says is checked: silent while it is so, one line where it is not, never an error."""

from __future__ import annotations

from nbformat.v4 import new_code_cell, new_notebook, new_output

from wavy.companion.checks import problems
from wavy.companion.statements import said


def test_a_true_statement_is_silent(capsys):
    said(len("ab") == 2)
    assert capsys.readouterr().out == ""


def test_an_untrue_one_is_told_in_words_or_by_its_line(capsys):
    said([], "one is more than two")
    said(len("ab") == 3)
    words, line = capsys.readouterr().out.splitlines()
    assert words == "Not so in this run: one is more than two"
    assert line == 'Not so in this run: said(len("ab") == 3)'


def test_no_reference_may_hold_an_untrue_statement():
    output = new_output("stream", name="stdout", text="Not so in this run: it grows\n")
    cell = new_code_cell("said(False, 'it grows')", outputs=[output], execution_count=1)
    assert any("it grows" in line for line in problems(new_notebook(cells=[cell])))
