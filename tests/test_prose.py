"""No result is typed: digits in the prose of chapters and notebooks stand in roles, code, definitions or links."""

from __future__ import annotations

import re

import pytest

from conftest import ROOT

PAGES = sorted((ROOT / "book").glob("*.md")) + sorted((ROOT / "notebooks").glob("*.md"))

#: What is not prose, or where digits define something instead of claiming a result.
NOT_PROSE = [
    re.compile(r"\A---\n.*?^---$", re.MULTILINE | re.DOTALL),  # header of a notebook
    re.compile(r"^(`{3,})\{(?:code-cell|literalinclude|eval-rst|bibliography)\}.*?^\1$", re.MULTILINE | re.DOTALL),
    re.compile(r"^\$\$$.*?^\$\$(?: \([\w-]+\))?$", re.MULTILINE | re.DOTALL),  # equations
    re.compile(r"\{[\w:]+\}`[^`]*`"),  # roles
    re.compile(r"`[^`\n]+`"),  # code
    re.compile(r"\]\([^)]*\)"),  # targets of links
    re.compile(
        r"^:[\w-]+:(?! ).*$|^:(?:name|label|class|tags|tolerance|doc|dedent|pyobject|enumerated):.*$", re.MULTILINE
    ),
    re.compile(r"^[`:]{3,}.*$", re.MULTILINE),  # names of directives
    re.compile(r"^\([\w-]+\)=$", re.MULTILINE),  # targets
    re.compile(r"<!--.*?-->", re.DOTALL),
]
MATH = re.compile(r"(?<![\\$])\$(?!\$)([^$]+?)(?<!\\)\$(?!\$)")
#: Zero, one and two are words, as long as they measure nothing.
SMALL = re.compile(r"(?<![\d.,])[012](?![.,]?\d| ?%| per cent)")
#: A formula that is nothing but a number (with a sign or a unit) is a number typed by hand.
BARE = re.compile(r"^[-+\s\\,;~]*(?:\d*\.\d+|\d{2,}|[3-9])(?:[\s\\,;~]|\{?\\?%\}?|\\times|\^|[-+\d{}])*$")


def prose_digits(text: str) -> list[str]:
    """Lines of prose with a digit in them, and formulas that are bare numbers."""
    for pattern in NOT_PROSE:
        text = pattern.sub(" ", text)
    bare = [f"${formula}$" for formula in MATH.findall(text) if BARE.match(formula)]
    words = MATH.sub(" ", text)
    return [line.strip() for line in words.splitlines() if re.search(r"\d", SMALL.sub("", line))] + bare


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_number_in_prose_is_typed(page):
    if page.stem == "api":
        pytest.skip("a list of docstrings has no prose")
    assert prose_digits(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "text",
    [
        "Accuracy is 85.2 per cent.",
        "It falls to $0.83$ a layer.",
        "Only $12\\,\\%$ is left.",
        "a table\n\n| kind | 3.4 |\n",
        ":alt: the line ends at 0.9",
        "- after 40 layers",
        "less than 1 % is left",
        "$10^{-3}$",
    ],
)
def test_typed_results_are_found(text):
    assert prose_digits(text)


@pytest.mark.parametrize(
    "text",
    [
        "{glue:text}`../notebooks/a.ipynb::x:.2f` per cent",
        "with $\\tau = 0.5$ and $z^2 - b z + c = 0$, between $0$ and $1$",
        "set `tau=0.9` and {eq}`eq-a2`",
        "$$\nx = 0.5\n$$ (eq-b1)\n",
        "```{literalinclude} ../a2.py\n:pyobject: f3\n```",
        "[here](page2.md)",
        "at most 1, and 0 if all are equal.",
        "```{code-cell} ipython3\nx = 3\n```",
    ],
)
def test_definitions_are_left_alone(text):
    assert prose_digits(text) == []
