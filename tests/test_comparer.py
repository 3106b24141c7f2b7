"""The outputs of two runs: what counts as a difference, and how it is told."""

from __future__ import annotations

import pytest
from nbformat.v4 import new_output

from notebook_kit import checkout, code, executed, result, stdout
from wavy.companion.comparer import compare_notebooks, compare_outputs
from wavy.companion.numeric_text import Tolerance


def differ(expected, found):
    return compare_outputs(expected, found, Tolerance())


def stderr(text):
    return new_output("stream", name="stderr", text=text)


def test_how_a_stream_is_cut_does_not_count():
    assert differ([stdout("loss 0.5\nend\n")], [stdout("loss "), stdout("0.50001\nend\n")]) is None
    mixed = [stdout("a\n"), stderr("b\n"), stdout("c\n")]
    assert differ(mixed, [stderr("b\n"), stdout("a\nc\n")]) is None


TABLE = result(text_plain="1.5")
FAILURE = new_output("error", ename="ValueError", evalue="no")


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        ([stdout("a\n"), TABLE], [TABLE, stdout("a\n")]),
        ([stdout("a\nb\n"), TABLE], [stdout("a\n"), TABLE, stdout("b\n")]),
        ([TABLE, stdout("a\n"), FAILURE], [stdout("a\n"), TABLE, FAILURE]),
        ([TABLE, stdout("a\n"), stderr("b\n"), TABLE], [TABLE, stdout("a\n"), TABLE, stderr("b\n")]),
    ],
)
def test_on_which_side_of_a_display_a_text_stands_does_count(expected, found):
    assert differ(expected, expected) is None
    assert differ(expected, found)
    assert differ(found, expected)


def glued(name, value="1.5"):
    return new_output("display_data", {"text/plain": value}, metadata={"scrapbook": {"name": name}})


@pytest.mark.parametrize(
    "found",
    [
        [glued("b"), glued("a")],
        [glued("a"), new_output("display_data", {"text/plain": "1.5"})],
        [glued("a"), new_output("display_data", {"text/plain": "1.5"}, metadata=glued("b").metadata | {"more": 1})],
    ],
)
def test_the_names_of_glued_values_count(found):
    assert differ([glued("a"), glued("b")], [glued("a"), glued("b", "1.50001")]) is None
    message = differ([glued("a"), glued("b")], found)
    assert "metadata: expected" in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("expected", "found", "told"),
    [
        ([stdout("a 1.5")], [stdout("a 2.5")], "stdout: 1.5 became 2.5"),
        ([stdout("a")], [stderr("a")], "stderr: unexpected"),
        ([stdout("a")], [], "stdout: missing"),
        ([], [stderr("a warning")], "stderr: unexpected 'a warning'"),
        ([result(text_plain="1")], [], "1 outputs"),
        ([], [result(text_plain="1")], "0 outputs"),
        ([result(text_plain="1")], [new_output("display_data", {"text/plain": "1"})], "expected execute_result"),
        ([result(text_html="<td>1.5</td>")], [result(text_html="<td>2.5</td>")], "output 1: text/html: 1.5 became"),
        ([result(text_html="<b>", text_plain="b")], [result(text_plain="b")], "formats text/html, text/plain"),
        ([result(image_png="AAAA")], [result(text_plain="b")], "formats image/png"),
        ([TABLE, stdout("a 1.5")], [TABLE, stdout("a 2.5")], "after output 1, stdout: 1.5 became"),
        ([result(text_plain="1"), result(text_plain="2")], [result(text_plain="2")] * 2, "output 1"),
    ],
)
def test_differences(expected, found, told):
    assert told in differ(expected, found)


def test_images_are_not_compared_but_what_stands_beside_them_is():
    assert differ([result(image_png="AAAA")], [result(image_png="BBBB")]) is None
    assert differ([result(image_png="AA", text_plain="1.5")], [result(image_png="AA", text_plain="1.6")])


def test_data_in_json_compare_by_number_and_not_by_order():
    data = {"a": 1.0, "b": 2}, {"b": 2, "a": 1.00001}, {}
    first, second, third = (new_output("display_data", {"application/json": each}) for each in data)
    assert differ([first], [second]) is None
    assert differ([first], [third])


def test_notebooks_name_each_cell_that_differs_and_heed_its_tolerance(tmp_path):
    cells = [code("a"), "\ntext\n", code("b", tolerance="{rtol: 0.1}"), code("c")]
    layout = checkout(tmp_path, toy=cells)
    reference = executed(layout, "toy", [stdout("1.0")], [stdout("1.0")], [stdout("1.0")])
    fresh = executed(layout, "toy", [stdout("1.1")], [stdout("1.1")], [stdout("1.1")])
    lines = compare_notebooks(reference, fresh)
    assert [line.split(":")[0] for line in lines] == ["code cell 1", "code cell 3"]
    assert compare_notebooks(reference, reference) == []


def test_a_changed_source_is_told_as_such(tmp_path):
    layout = checkout(tmp_path, toy=[code("a")], longer=[code("a"), code("b")], other=[code("b")])
    toy, longer, other = executed(layout, "toy", []), executed(layout, "longer", [], []), executed(layout, "other", [])
    assert "1 code cells, the source 2" in compare_notebooks(toy, longer)[0]
    assert "its source changed" in compare_notebooks(toy, other)[0]
