"""The sources of the book: nothing copied, nothing undefined, nothing left out. These tests need no build."""

import ast
import importlib
import re
import textwrap
from collections import Counter
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
CHAPTERS = sorted((ROOT / "book").glob("*.md"))
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.md"))
MODULES = sorted((ROOT / "wavy").rglob("*.py"))

REQUIRED_EQUATIONS = {
    *("eq-diffusion", "eq-stock", "eq-wave", "eq-wave-momentum", "eq-light", "eq-mix", "eq-shadow-energy", "eq-roots"),
    *("eq-ln-velocity", "eq-ffn-velocity", "eq-difformer", "eq-simple-attention", "eq-gap", "eq-variance"),
    *("eq-cosine", "eq-dirichlet", "eq-effective-rank", "eq-class-variance"),
}
INCLUDE = re.compile(r"```\{literalinclude\} (?P<path>\S+)\n(?P<options>(?::.*\n)*)```")
#: An equation and where it lives in the package, as the chapters list them.
TABLE_ROW = re.compile(r"^\| \{eq\}`(?P<label>[^`]+)`[^|]*\| \{py:\w+\}`(?P<name>wavy\.[\w.]+)`", re.MULTILINE)
#: What fits the text column at the size of code.
CODE_COLUMNS = 88


def read(path: Path) -> str:
    return path.read_text(encoding="utf8")


def defined_equations() -> list[str]:
    return [label for path in CHAPTERS for label in re.findall(r"^\$\$ \((eq-[\w-]+)\)$", read(path), re.MULTILINE)]


def pages_in_toc() -> set[str]:
    toc = yaml.safe_load(read(ROOT / "_toc.yml"))
    return {toc["root"], *(chapter["file"] for part in toc["parts"] for chapter in part["chapters"])}


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
    assert REQUIRED_EQUATIONS - set(counts) == set()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_equations_cited_by_the_package_are_in_the_book(path):
    assert set(re.findall(r":eq:`([^`]+)`", read(path))) - set(defined_equations()) == set()


def test_the_tables_of_equations_name_every_equation_of_the_package():
    rows = [match for path in CHAPTERS for match in TABLE_ROW.finditer(read(path))]
    cited = {label for path in MODULES for label in re.findall(r":eq:`([^`]+)`", read(path))}
    assert cited - {row["label"] for row in rows} == set()
    missing = []
    for row in rows:
        module, name = row["name"].rsplit(".", 1)
        if not hasattr(importlib.import_module(module), name):
            missing.append(row["name"])
    assert missing == []


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


def test_introduction_types_no_numbers():
    """Every number of the introduction's prose is glued from a notebook: none is typed."""
    roles_options_and_links = re.compile(r"\{[\w:]+\}`[^`]*`|^:\w+:.*$|\]\(\S+\)", re.MULTILINE)
    prose = roles_options_and_links.sub("", read(ROOT / "book/intro.md"))
    assert re.findall(r".*\d.*", prose) == []


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
