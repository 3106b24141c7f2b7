"""Where each numbered equation lives: the chapter, the objects of ``wavy`` that compute it, the tests that check it.

Three sources are read, none is imported: in the chapters the line ``Code: {py:func}`wavy...``` after an equation, in
the docstrings of ``wavy`` the role ``:eq:``, in the tests the marker ``@pytest.mark.equation("eq-...")``.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

LABEL = re.compile(r"^(?:> ?)*\$\$ \((eq-[\w-]+)\)$")
CODE = re.compile(r"\{py:(?:func|class|meth)\}`(wavy\.[\w.]+)`")
ROLE = re.compile(r":eq:`(eq-[\w-]+)`")

Links = dict[str, set[str]]


def equations(book: Path) -> dict[str, str]:
    """Label of each numbered equation -> stem of its chapter, in the order of the files."""
    found = {}
    for path in sorted(book.glob("*.md")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if match := LABEL.match(line):
                found[match[1]] = path.stem
    return found


def code_named_in(book: Path) -> Links:
    """Label -> the objects that the chapter names after the equation."""
    links: Links = defaultdict(set)
    for path in sorted(book.glob("*.md")):
        label = None
        for line in path.read_text(encoding="utf-8").splitlines():
            if match := LABEL.match(line):
                label = match[1]
            elif line.startswith("Code: "):
                if label is None:
                    raise ValueError(f"{path.name}: the line {line!r} follows no numbered equation")
                links[label] |= set(CODE.findall(line))
    return dict(links)


def code_citing(package: Path) -> Links:
    """Label -> the objects of the package whose docstrings cite it, by the names under which the reference has them."""
    links: Links = defaultdict(set)
    for path in sorted(package.rglob("*.py")):
        module = ".".join((package.name, *path.relative_to(package).with_suffix("").parts)).removesuffix(".__init__")
        shown_by_parent = _imported(path.with_name("__init__.py")) if path.parent != package else set()
        for name, node in _objects(ast.parse(path.read_text(encoding="utf-8"))):
            for label in ROLE.findall(ast.get_docstring(node) or ""):
                parent = module.rpartition(".")[0]
                links[label].add(f"{parent if (module, name) in shown_by_parent else module}.{name}")
    return dict(links)


def marked_tests(tests: Path) -> Links:
    """Label -> the tests that carry its marker, as ``file::test``."""
    links: Links = defaultdict(set)
    for path in sorted(tests.glob("test_*.py")):
        for name, node in _objects(ast.parse(path.read_text(encoding="utf-8"))):
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.equation":
                    for label in map(ast.literal_eval, mark.args):
                        links[label].add(f"{path.stem}::{name}")
    return dict(links)


def _imported(init: Path) -> set[tuple[str, str]]:
    """What the ``__init__`` of a subpackage imports, as (module, name): it is documented there."""
    tree = ast.parse(init.read_text(encoding="utf-8")) if init.exists() else ast.Module([], [])
    imports = (node for node in tree.body if isinstance(node, ast.ImportFrom))
    return {(node.module, alias.name) for node in imports for alias in node.names}


def _objects(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef | ast.ClassDef]]:
    """Functions and classes of a module, and the methods of its classes as ``Class.method``."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name, node
        if isinstance(node, ast.ClassDef):
            methods = (child for child in node.body if isinstance(child, ast.FunctionDef))
            yield from ((f"{node.name}.{child.name}", child) for child in methods)
