"""The sources of the book: nothing copied, nothing undefined, nothing left out. These tests need no build."""

import ast
import re
import textwrap
from collections import Counter
from pathlib import Path

import pytest

from toc import pages_in_toc
from wavy.companion.paths import Layout
from wavy.companion.run_times import read_run_times

ROOT = Path(__file__).parents[1]
CHAPTERS = sorted((ROOT / "book").glob("*.md"))
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.md"))

INCLUDE = re.compile(r"```\{literalinclude\} (?P<path>\S+)\n(?P<options>(?::.*\n)*)```")
#: What fits the text column at the size of code.
CODE_COLUMNS = 88


def read(path: Path) -> str:
    return path.read_text(encoding="utf8")


def defined_equations() -> list[str]:
    return [label for path in CHAPTERS for label in re.findall(r"^\$\$ \((eq-[\w-]+)\)$", read(path), re.MULTILINE)]


def objects_of(path: Path) -> dict[str, str]:
    """Functions, classes and methods of a module, as literalinclude names them, with their source."""
    text, found = read(path), {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
            found.update(
                {f"{node.name}.{item.name}": item for item in ast.walk(node) if isinstance(item, ast.FunctionDef)}
            )
    return {name: ast.get_source_segment(text, node, padded=True) for name, node in found.items()}


def test_every_equation_has_exactly_one_definition():
    counts = Counter(defined_equations())
    assert {label: n for label, n in counts.items() if n > 1} == {}


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.name)
def test_code_is_included_by_the_name_of_an_object_never_copied(path):
    text = read(path)
    assert not re.search(r"^(```|~~~)\s*(python|py|ipython3|\{code)", text, re.MULTILINE)
    includes = list(INCLUDE.finditer(text))
    assert len(includes) == text.count("{literalinclude}")
    for include in includes:
        name = re.search(r"^:pyobject: (\S+)$", include["options"], re.MULTILINE)
        assert name, f"{include['path']} is included without :pyobject:"
        source = objects_of((path.parent / include["path"]).resolve()).get(name[1])
        assert source, f"{include['path']} has no {name[1]}"
        shown = textwrap.dedent(source).splitlines()
        assert [line for line in shown if len(line) > CODE_COLUMNS] == []


def test_every_chapter_and_notebook_is_in_the_toc():
    sources = [path.relative_to(ROOT).with_suffix("").as_posix() for path in CHAPTERS + NOTEBOOKS]
    assert sorted(pages_in_toc()) == sorted(sources)


def test_every_citation_is_in_the_bibliography_and_every_entry_is_cited():
    entries = re.findall(r"^@\w+\{([^,]+),", read(ROOT / "book/references.bib"), re.MULTILINE)
    cited = [
        key.strip()
        for path in CHAPTERS + NOTEBOOKS
        for keys in re.findall(r"\{cite(?::[tp])?\}`([^`]+)`", read(path))
        for key in keys.split(",")
    ]
    assert len(entries) == len(set(entries))
    assert set(cited) == set(entries)


def test_every_notebook_has_been_timed():
    assert sorted(read_run_times(Layout(ROOT / "notebooks"))) == sorted(path.stem for path in NOTEBOOKS)
