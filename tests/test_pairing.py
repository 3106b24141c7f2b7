"""A committed notebook is its source plus outputs that can be equal on other machines; only ``reference`` writes it."""

from __future__ import annotations

import json

import nbformat
import pytest
from nbformat.v4 import new_output

from notebook_kit import ROOT, checkout, code, commit, executed, result, stdout
from wavy.companion import ledger
from wavy.companion.checks import problems
from wavy.companion.pairing import check_notebook
from wavy.companion.paths import CompanionError, Layout
from wavy.companion.reference import check_references, make_reference, make_references
from wavy.companion.run_times import read_run_times
from wavy.companion.source import canonical, read_source

REAL = Layout(ROOT / "notebooks")
CELLS = [code("a = 1", "parameters"), "\ntext\n", code("print(a, 0.5)", "hide-input", tolerance="{rtol: 0.1}")]


@pytest.mark.parametrize("name", REAL.names())
def test_each_notebook_of_the_book_is_in_order(name):
    assert check_notebook(REAL, name) == []


@pytest.fixture
def layout(tmp_path):
    layout = checkout(tmp_path, toy=CELLS)
    commit(layout, "toy", executed(layout, "toy", [], [stdout("1 0.5\n")]))
    assert check_notebook(layout, "toy") == []
    return layout


def change(layout, edit):
    nb = nbformat.read(layout.reference("toy"), 4)
    edit(nb)
    commit(layout, "toy", nb)
    return check_notebook(layout, "toy")


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (lambda nb: nb.cells[-1].update(source="print(a, 0.6)"), "cell 4 (of all) differs from the source in source"),
        (lambda nb: nb.cells[0].update(source="Another title"), "cell 1 (of all)"),
        (lambda nb: nb.cells.pop(0), "it has 3 cells, the source 4"),
        (lambda nb: nb.cells[1].metadata.pop("tags"), "cell 2 (of all) differs from the source in metadata"),
        (lambda nb: nb.cells[-1].metadata.tolerance.update(rtol=9), "in metadata"),
        (lambda nb: nb.cells[-1].metadata.update(papermill={"duration": 1.5}), "in metadata"),
        (lambda nb: nb.cells[-1].update(id="random"), "in id"),
        (lambda nb: nb.cells[0].update(attachments={"a.png": {"image/png": "AAAA"}}), "in attachments"),
        (lambda nb: nb.update(nbformat_minor=6), "its nbformat_minor is not that of the source"),
        (lambda nb: nb.metadata.update(papermill={"input_path": "/x"}), "not that of the source (papermill)"),
        (lambda nb: nb.metadata.language_info.update(version="3.11.1"), "(language_info)"),
    ],
)
def test_whatever_is_not_from_the_source_is_named(layout, edit, told):
    assert any(told in line for line in change(layout, edit))


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (lambda nb: nb.cells[0].update(outputs=[stdout("0.7")]), "'outputs' was unexpected"),
        (lambda nb: nb.update(worksheets=[]), "'worksheets' was unexpected"),
        (lambda nb: nb.cells[-1].outputs[0].update(note="x"), "output"),
        (lambda nb: nb.cells[-1].pop("execution_count"), "'execution_count' is a required property"),
        (lambda nb: nb.update(nbformat=3), "3 is less than the minimum"),
        (lambda nb: nb.update(nbformat_minor=4), "4 is less than the minimum"),
        (lambda nb: nb.cells[-1].pop("id"), "'id' is a required property"),
    ],
)
def test_a_file_that_breaks_the_schema_is_refused_in_one_line(layout, edit, told):
    raw = json.loads(layout.reference("toy").read_text())
    nb = nbformat.from_dict(raw)
    edit(nb)
    layout.reference("toy").write_text(json.dumps(nb))
    (line,) = check_notebook(layout, "toy")
    assert line.startswith("it is no valid notebook: ")
    assert told in line
    assert "\n" not in line


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "{}", "3", '{"nbformat": 4, "nbformat_minor": 5, "cells": null}', "\ud800"]
)
def test_a_file_that_is_no_notebook_is_refused_in_one_line(layout, content):
    layout.reference("toy").write_bytes(content.encode("utf-8", "surrogatepass"))
    (line,) = check_notebook(layout, "toy")
    assert line.startswith("it is no valid notebook: ")


def test_missing_halves_are_named(layout):
    layout.source("toy").rename(layout.source("other"))
    assert check_notebook(layout, "toy") == ["toy.ipynb has no source toy.md"]
    assert "other.ipynb is missing" in check_notebook(layout, "other")[0]
    assert not check_references(layout)


def test_the_parameters_cell_and_the_experiment_must_agree(layout, monkeypatch):
    layout.source("toy").rename(layout.source("difformer"))
    layout.reference("toy").rename(layout.reference("difformer"))
    (line,) = check_notebook(layout, "difformer")
    assert "do not both have: a, dataset" in line


IMAGE = result(image_png="AAAA", text_plain="<Figure size 640x480 with 1 Axes>")


@pytest.mark.parametrize(
    ("outputs", "told"),
    [
        ([new_output("error", ename="ValueError", evalue="no")], "holds the error ValueError: no"),
        ([new_output("stream", name="stderr", text="x.py:3: UserWarning\n")], "writes to stderr"),
        ([stdout("<object at 0x7f3a5c2b1d90>")], "prints a memory address"),
        ([stdout("read /home/someone/cora.x")], "prints an absolute path: /home/someone/cora.x"),
        ([stdout("read C:\\data")], "prints an absolute path"),
        ([IMAGE], "shows an image but prints no number"),
        ([IMAGE, stdout("a figure")], "prints no number"),
        ([IMAGE, result(text_plain="Text(0.5, 1.0, 'title')")], "prints no number"),
        ([result(text_html="<img src='data:image/png;base64,AAAA'> 1.5")], "prints no number"),
    ],
)
def test_outputs_that_cannot_serve_as_a_reference(tmp_path, outputs, told):
    layout = checkout(tmp_path, toy=[code("draw()")])
    (line,) = problems(executed(layout, "toy", outputs))
    assert line.startswith("code cell 1 ")
    assert told in line


@pytest.mark.parametrize(
    "outputs",
    [
        [IMAGE, stdout("area 1.5")],
        [IMAGE, result(text_html="<td>1.5</td>")],
        [stdout("https://a.org/b/c and/or 1/2/3 </td> text/plain/x ../a/b wavy/data/cora.x N/A")],
        [result(text_html="<img src='data:image/png;base64,iVBO/AAA/BBB+/CC/DD=/EE/F'>"), stdout("1")],
    ],
)
def test_outputs_that_can(tmp_path, outputs):
    assert problems(executed(checkout(tmp_path, toy=[code("draw()")]), "toy", outputs)) == []


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        (code("1", "nbval-ignore-output"), "switches nbval's comparison off"),
        (code("1", "raises-exception"), "switches nbval's comparison off"),
        (code("# NBVAL_SKIP\n1"), "switches nbval's comparison off"),
        (code("plt.plot();"), "ends with a semicolon"),
        (code("1", tolerance="{rtoll: 1}"), "has bad metadata: tolerance"),
        (code("1", tolerance="{rtol: 0.2}"), "has bad metadata: tolerance must have rtol <= 0.1"),
    ],
)
def test_cells_that_undermine_the_comparison_are_refused(tmp_path, cell, told):
    (line,) = problems(executed(checkout(tmp_path, toy=[cell]), "toy", []))
    assert told in line


@pytest.mark.parametrize("counts", [(None, None), (None, 1), (1, None), (2, 1), (1, 1), (3, 4)])
def test_the_cells_must_have_been_run_in_order(layout, counts):
    nb = nbformat.read(layout.reference("toy"), 4)
    nb.cells[1].execution_count, nb.cells[3].execution_count = counts
    assert any("it was not run in order" in line for line in problems(nb))


def test_a_result_has_the_count_of_its_cell(tmp_path):
    nb = executed(checkout(tmp_path, toy=[code("1.5")]), "toy", [result(text_plain="1.5")])
    assert problems(nb) == []
    nb.cells[-1].outputs[0].execution_count = 7
    assert problems(nb) == ["code cell 1 has the execution count 1, its output 7"]


def test_a_source_always_makes_the_same_notebook_with_its_tags(layout):
    nb = read_source(layout.source("toy"))
    assert nb == read_source(layout.source("toy")) == canonical(nb)
    assert nb.cells[3].metadata == {"tags": ["hide-input"], "tolerance": {"rtol": 0.1}}
    assert len({cell.id for cell in nb.cells}) == len(nb.cells)


def test_a_reference_is_reproducible_to_the_byte_and_in_order(layout):
    layout.reference("toy").unlink()
    assert make_reference(layout, "toy") == "written"
    first = layout.reference("toy").read_bytes()
    assert check_notebook(layout, "toy") == []
    assert ledger.recorded(layout, "toy") == ledger.state(layout, "toy")
    assert "0 changes" in make_reference(layout, "toy")
    assert layout.reference("toy").read_bytes() == first
    assert read_run_times(layout)["toy"] >= 1
    assert str(layout.root).encode() not in first
    nb = nbformat.read(layout.reference("toy"), 4)
    assert nb.cells[3].outputs == [stdout("1 0.5\n")]


def test_what_cannot_serve_leaves_the_former_reference_alone(layout, capsys):
    before = layout.reference("toy").read_bytes()
    layout.source("toy").write_text(layout.source("toy").read_text() + code("import sys; print(1, file=sys.stderr)"))
    assert not make_references(layout, ["toy"])
    assert "code cell 3 writes to stderr" in capsys.readouterr().out
    assert layout.reference("toy").read_bytes() == before
    assert ledger.recorded(layout, "toy") is None
    with pytest.raises(CompanionError, match='no notebook "toi"; did you mean "toy"'):
        make_references(layout, ["toy", "toi"])
