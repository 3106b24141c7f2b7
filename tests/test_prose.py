"""No result is typed: digits in the prose of chapters and notebooks stand in roles, code, definitions or links."""

from __future__ import annotations

import re

import pytest

from conftest import ROOT

PAGES = sorted((ROOT / "book").glob("*.md")) + sorted((ROOT / "notebooks").glob("*.md"))

#: Roles whose text names something; any other role shows its text to the reader.
NAMING = r"eq|numref|ref|doc|term|cite(?::[tp])?|prf:ref|py:\w+|class|func|meth|attr|mod|any"
#: Directives whose argument is a title.
TITLED = r"prf:\w+|exercise|admonition|note|tip|warning|important|figure|table|rubric"

#: Code, but not a bare number in its clothes.
CODE = re.compile(r"`(?!\s*(?:\d*\.\d+|\d+ ?%))[^`\n]+`")
SHOWING = re.compile(r"\{[\w:]+\}`([^`]*)`")
#: What is not prose, or where digits define something instead of claiming a result.
NOT_PROSE = [
    re.compile(r"\A---\n.*?^---$", re.MULTILINE | re.DOTALL),  # header of a notebook
    re.compile(r"^(`{3,})\{(?:code-cell|literalinclude|eval-rst|bibliography)\}.*?^\1$", re.MULTILINE | re.DOTALL),
    re.compile(rf"\{{(?:{NAMING})\}}`[^`]*`"),
    re.compile(r"\{glue(?::text)?\}`[^`]+::[^`]+`"),  # a value of a notebook
    CODE,
    re.compile(r"\]\([^)]*\)"),  # targets of links
    re.compile(r"^:(?!alt:|caption:)[\w-]+:.*$", re.MULTILINE),  # options
    re.compile(rf"^[`:]{{3,}}\{{(?!(?:{TITLED})\}})[^\n]*$", re.MULTILINE),  # directives and their arguments
    re.compile(r"^\([\w-]+\)=$", re.MULTILINE),  # targets
    re.compile(r"<!--.*?-->", re.DOTALL),
]
DISPLAY = re.compile(r"^\$\$$.*?^\$\$(?: \([\w-]+\))?$|\$\$[^$]+\$\$", re.MULTILINE | re.DOTALL)
MATH = re.compile(r"(?<![\\$])\$(?!\$)([^$]+?)(?<!\\)\$(?!\$)")
#: Zero, one and two are words, as long as they measure nothing.
SMALL = re.compile(r"(?<![\d.,/])[012](?![.,]?\d|/| ?%| per ?cent|-fold| times| layers| seconds)")
#: A formula that is nothing but a number (with a sign, a bound or a unit) is a number typed by hand.
BARE = re.compile(
    r"^[-+\s\\,;~(<>=]*(?:\d*\.\d+|\d{2,}|[3-9]|\d+(?=[\s\\,]*%)|\\[td]?frac\{\d{2,}\}\{\d+\})"
    r"(?:[\s\\,;~)]|\{?[.,]?\}?\d|\{?\\?%\}?|\\times|\^|[-+\d{}])*$"
)
DRESS = re.compile(r"\\(?:math\w+|text)\{([^{}]*)\}|\\(?:sim|approx|le|ge|lt|gt)\b")
#: A decimal in a formula is a setting of one of these, or a result.
SETTING = re.compile(r"\\(?:tau|lambda|theta|mu|epsilon|gamma|beta)|^\s*[chtp]\b|^\s*x")


def prose_digits(text: str) -> list[str]:
    """Lines of prose with a digit in them, and formulas that state a number."""
    for pattern in NOT_PROSE:
        text = pattern.sub(" ", SHOWING.sub(r"\1", text) if pattern is CODE else text)
    shown = [found for found in DISPLAY.findall(text) if re.search(r"\d\.\d", found)]
    text = DISPLAY.sub(" ", text)
    formulas = MATH.findall(text)
    bare = [f"${formula}$" for formula in formulas if BARE.match(DRESS.sub(r"\1", formula))]
    claims = [f"${formula}$" for formula in formulas if re.search(r"\d\.\d", formula) and not SETTING.search(formula)]
    words = MATH.sub(" ", text)
    return (
        [line.strip() for line in words.splitlines() if re.search(r"[\d½⅓⅔¼¾]", SMALL.sub("", line))]
        + bare
        + claims
        + shown
    )


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
        "a rate of $a = 0.83$",
        "at most $(0.83)$",
        "$\\mathbf{0.83}$",
        "$\\sim 40$",
        "$< 0.05$",
        "$\\tfrac{17}{20}$",
        "$1\\,\\%$",
        "`0.85`",
        "{strong}`85 per cent`",
        "{glue:text}`0.85`",
        "```{note} Accuracy is 0.85\nIt is.\n```",
        ":::{admonition} Rate 0.85",
        ":alt:0.85",
        "1 percent",
        "2-fold",
        "after 2 layers",
        "½ of it",
        "$$\na = 0.83\n$$",
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
        "$$\nx = y_2\n$$ (eq-b1)\n",
        "```{literalinclude} ../a2.py\n:pyobject: f3\n```",
        "[here](page2.md)",
        "at most 1, and 0 if all are equal.",
        "```{code-cell} ipython3\nx = 3\n```",
    ],
)
def test_definitions_are_left_alone(text):
    assert prose_digits(text) == []
