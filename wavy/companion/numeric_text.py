"""Compare two texts so that numbers count as numbers and everything else as text.

nbval compares outputs as strings; its only leniency is a regular expression, and cutting digits off by one merely moves
the place where 3.9515 and 3.9514 differ. The rule here, used by every comparison of the companion:

1. Text between numbers must be equal. Only where a number is written wider or narrower than its reference, a run of
   blanks counts as one blank and blanks beside numbers do not count (column padding depends on the digits).
2. Two numbers both written as integers must be written alike.
3. Otherwise |found - expected| <= atol + rtol |expected|. nan equals nan, and inf only inf of the same sign.

A number may carry a sign, thousands separators and an exponent. Digits inside a word (h1, float64), after # (a colour)
or in a dotted version (2.14.1) are text. Since (1,234.5) may be a pair, 1,234.5 does not equal 1234.5.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

EXCERPT = 100  # characters of a line shown in a message
THOUSAND = 1000  # from here on a number may carry separators
MAX_RTOL = 0.1  # one digit must agree; a comparison that lets more pass says nothing

# One group, so that ``split`` returns text, number, ..., text. (?>...) and ?+ forbid backtracking into half a number.
NUMBER = re.compile(
    r"""(
    (?:(?<![\w)\]])[+\-\u2212](?=[\d.ni]))?         # a sign, unless it joins two words or ends a bracket
    (?<![\w.\#])                                    # not inside a word, a version or a colour
    (?>
        (?:(?>[1-9]\d{0,2}(?:,\d{3})+(?![\d,])|\d+)(?:\.\d*)?+|\.\d+)(?:e[+\-]?\d+)?+
      | (?:nan|inf(?:inity)?)(?!\w)
    )
    (?!\.?\d)                                       # not the head of a dotted version
    )""",
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True)
class Tolerance:
    """How far a number may lie from its reference: atol + rtol |expected|.

    The default covers a last printed digit at five significant digits and the rounding noise of float64 around zero.
    A cell sets its own with the metadata ``{"tolerance": {"rtol": ..., "atol": ...}}``.
    """

    rtol: float = 1e-4
    atol: float = 1e-12

    @classmethod
    def of_cell(cls, metadata: dict) -> Tolerance:
        """Return the tolerance that a cell's metadata asks for.

        Raises:
            ValueError: an unknown key, a value that is not a finite number >= 0, or an rtol above ``MAX_RTOL``.
        """
        given = metadata.get("tolerance", {})
        if not isinstance(given, dict) or set(given) - {"rtol", "atol"}:
            raise ValueError(f"tolerance must be a mapping with rtol and atol only, found {given!r}")
        try:  # YAML reads 1e-3 as a string, so strings are converted too
            tolerance = cls(**{key: float(value) for key, value in given.items()})
        except (TypeError, ValueError):
            raise ValueError(f"tolerance must hold numbers, found {given!r}") from None
        if not all(math.isfinite(value) and value >= 0 for value in (tolerance.rtol, tolerance.atol)):
            raise ValueError(f"tolerance must be finite and >= 0, found {given!r}")
        if tolerance.rtol > MAX_RTOL:
            raise ValueError(f"tolerance must have rtol <= {MAX_RTOL:g}, found {given!r}")
        return tolerance

    def accepts(self, expected: str, found: str) -> bool:
        """Return whether the number written as ``found`` may stand where ``expected`` was."""
        if _is_integer(expected) and _is_integer(found):
            return _ascii(expected) == _ascii(found)
        a, b = float(_plain(expected)), float(_plain(found))
        if ("," in expected) != ("," in found) and min(abs(a), abs(b)) >= THOUSAND:
            return False
        if a == b or (math.isnan(a) and math.isnan(b)):
            return True
        return math.isfinite(a) and math.isfinite(b) and abs(b - a) <= self.atol + self.rtol * abs(a)


def compare_text(expected: str, found: str, tolerance: Tolerance) -> str | None:
    """Return None if ``found`` equals ``expected`` by the rule above, otherwise one line on the first difference."""
    left, right = NUMBER.split(expected), NUMBER.split(found)
    same_widths = [*map(len, left[1::2])] == [*map(len, right[1::2])]
    blanks = str if same_widths else _squeeze
    for position, (a, b) in enumerate(zip(left, right, strict=False)):
        number = position % 2 == 1
        if tolerance.accepts(a, b) if number else blanks(a) == blanks(b):
            continue
        what = f"{a} became {b} (rtol {tolerance.rtol:g}, atol {tolerance.atol:g}): " if number else ""
        return what + _lines(_at(left, position, b), _at(right, position, a))
    if len(left) == len(right):
        return None
    end = min(len(left), len(right)) - 1
    return _lines(_at(left, end, ""), _at(right, end, ""))


def _at(tokens: list[str], position: int, other: str) -> tuple[str, int]:
    """Return the whole text and the index in it where token ``position`` first differs from ``other``."""
    token = tokens[position]
    same = next((i for i, (a, b) in enumerate(zip(token, other, strict=False)) if a != b), min(len(token), len(other)))
    return "".join(tokens), sum(map(len, tokens[:position])) + same


def _lines(expected: tuple[str, int], found: tuple[str, int]) -> str:
    number = expected[0].count("\n", 0, expected[1]) + 1
    return f"line {number}: expected {_excerpt(*expected)}, found {_excerpt(*found)}"


def _excerpt(text: str, index: int) -> str:
    start = max(text.rfind("\n", 0, index) + 1, index - EXCERPT // 2)
    return repr(text[start : start + EXCERPT].partition("\n")[0])


def _squeeze(text: str) -> str:
    return re.sub(r"[ \t]+", " ", text).strip(" ")


def _is_integer(number: str) -> bool:
    return re.fullmatch(r"[+\-]?\d+\.?", _plain(number)) is not None


def _plain(number: str) -> str:
    return _ascii(number).replace(",", "")


def _ascii(number: str) -> str:
    return number.replace("\u2212", "-")
