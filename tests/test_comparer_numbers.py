"""Numbers compare as numbers, all else as text."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wavy.companion.numeric_text import NUMBER, Tolerance, compare_text

DEFAULT = Tolerance()


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        ("loss 3.9515", "loss 3.9514"),  # the last of five digits
        ("loss 3.95150", "loss 3.9515"),
        ("44.390 %", "44.391 %"),
        ("44.390%", "44.391%"),
        ("1,234,567.5 rows", "1,234,568.1 rows"),
        ("1e-3", "0.001"),
        ("1.00001", "1"),
        ("-0.0", "0.0"),
        ("\u22121.00001", "-1.0"),  # the typographic minus
        ("+1.5", "1.5"),
        ("x=-2.00001,y", "x=-2.0,y"),
        ("[ 1.    -2.5 ]", "[ 1.00001 -2.5]"),
        ("a    9.99999", "a   10.00001"),  # padding depends on the digits
        ("a    9.99999  x", "a   10.00001 x"),
        ("999.99999 a", "1,000.00001 a"),
        ("\u22121,234", "-1,234"),
        ("nan and -inf", "nan and -inf"),
        ("NaN", "nan"),
        ("1.00001ms", "1.0ms"),
        ("<td>0.50001</td>", "<td>0.5</td>"),
        ("1e-17", "-3e-16"),  # rounding noise of float64
    ],
)
def test_equal(expected, found):
    assert compare_text(expected, found, DEFAULT) is None
    assert compare_text(found, expected, DEFAULT) is None


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        ("0.5154", "0.6154"),
        ("0.5154", "-0.5154"),
        ("12345", "12346"),  # integers are exact
        ("1,000,001", "1,000,002"),
        ("(0,100)", "(100)"),  # a pair
        ("[0,100]", "[0100]"),
        ("[1,234]", "[1234]"),
        ("(1,234.5)", "(1234.5)"),
        ("007", "7"),
        ("+1", "1"),
        ("1.", "1"),
        ("100000000000000000001", "100000000000000000002"),
        ("h1 1.0", "h2 1.0"),
        ("float64", "float32"),
        ("x_1.0", "x_1.00001"),  # part of a word
        ("#123456", "#123457"),
        ("#aabbcc", "#aabbcd"),
        ("torch 2.14.1", "torch 2.14.2"),
        ("2024-01-02", "2024-01-03"),
        ("nan", "1.0"),
        ("inf", "-inf"),
        ("inf", "1e308"),
        ("1.0", "inf"),
        ("holds", "does not hold"),
        ("1.5 %", "1.5"),
        ("a 1.5", "a 1.5 2.5"),
        ("a 1.5 2.5", "a 1.5"),
        ("a\n1.5", "a 1.5"),  # line breaks count
        ("1.5 b", "1.5 c"),
        ("depth 2   4\nlight 80     \n", "depth 2   4\nlight     80\n"),  # in another column
        ("a  1.5", "a 1.5"),
        ("1.5\n", "1.5 \n"),
        ("a  b", "a b"),
        ("a  b 1.50001", "a b 1.50002"),
        ("1 2", "12"),
        ("1 -2", "1-2"),
        ("[1.5]", "(1.5)"),
        ("", "1"),
    ],
)
def test_different(expected, found):
    assert compare_text(expected, found, DEFAULT)
    assert compare_text(found, expected, DEFAULT)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("3-5 a-1 (2)-1", ["3", "5", "1", "2", "1"]),  # a hyphen, not a sign
        ("-1 +.5 =-2e-3 1,234.5", ["-1", "+.5", "-2e-3", "1,234.5"]),
        ("0.123,0.456 12,34", ["0.123", "0.456", "12", "34"]),
        ("0,100 01,234 12,345 1,234,567", ["0", "100", "01", "234", "12,345", "1,234,567"]),
        ("h1 v1.2 2.14.1 #12 nanometre info lr1 ", []),
        ("End at 5.", ["5."]),
    ],
)
def test_what_is_a_number(text, numbers):
    assert NUMBER.findall(text) == numbers


def test_tolerance_of_the_cell_decides():
    wide = Tolerance.of_cell({"tolerance": {"rtol": "1e-1", "atol": 0}})  # YAML hands 1e-1 on as a string
    assert compare_text("1.00", "1.09", wide) is None
    assert compare_text("1.00", "1.11", wide)
    assert compare_text("0.01", "0.02", Tolerance.of_cell({"tolerance": {"atol": 0.05}})) is None
    assert compare_text("7", "8", wide), "integers stay exact"


@pytest.mark.parametrize(
    "bad", [{"rtoll": 1}, {"rtol": "much"}, {"rtol": -1}, {"atol": math.inf}, 0.1, {"rtol": None}, {"rtol": 0.11}]
)
def test_a_tolerance_that_means_nothing_is_refused(bad):
    with pytest.raises(ValueError, match="tolerance must") as refusal:
        Tolerance.of_cell({"tolerance": bad})
    assert "\n" not in str(refusal.value)


def test_the_message_names_both_values_the_line_and_the_tolerance():
    message = compare_text("first\nloss 0.5154 ok", "first\nloss 0.6154 ok", DEFAULT)
    assert "\n" not in message
    for part in ("0.5154 became 0.6154", "rtol 0.0001", "line 2", "'loss 0.5154 ok'", "'loss 0.6154 ok'"):
        assert part in message


@given(st.text())
@example("1,23,456.. 1e 1e+ .5.5 --1 1__2 \u00b2")
def test_every_text_equals_itself(text):
    assert compare_text(text, text, Tolerance(0, 0)) is None


CELLS = st.lists(st.sampled_from(["0.5", "12", "3.25", "light", "a b", ","]), min_size=1, max_size=6)


@given(CELLS, st.data())
def test_no_blank_moves_while_the_numbers_keep_their_width(cells, data):
    text = "  ".join(cells)
    place = data.draw(st.integers(0, len(text)))
    wider = text[:place] + " " + text[place:]
    assert compare_text(text, wider, DEFAULT)
    assert compare_text(wider, text, DEFAULT)


@given(st.floats(-1e6, 1e6), st.floats(0, 1), st.floats(0, 1))
def test_the_bound_is_atol_plus_rtol_times_expected(value, rtol, atol):
    tolerance = Tolerance(rtol, atol)
    bound = atol + rtol * abs(value)
    expected = repr(value)
    assert tolerance.accepts(expected, repr(value + 0.999 * bound))
    assert not tolerance.accepts(expected, repr(value + 1.001 * bound + 1e-6))
    assert not tolerance.accepts(expected, repr(value - 1.001 * bound - 1e-6))
