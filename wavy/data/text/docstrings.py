"""The embedded text: docstrings of scientific packages that are installed anyway. It needs no data and no network.

The modules are read with ``ast`` and never imported. A document is a module: all prose of its docstrings
(``wavy.data.text.prose``) in the order of the source. The packages with the most prose for their code come first, so
that a small part is read quickly. The text follows from the installed versions: ``Corpus.source`` names them, and
``Corpus.digest`` tells whether two installations have the same text.
"""

import ast
import importlib.util
import warnings
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from wavy.data.text.prose import paragraphs

#: Package -> its distribution; what wavy itself needs, and what that needs.
PACKAGES = {
    "networkx": "networkx",
    "numpy": "numpy",
    "sklearn": "scikit-learn",
    "scipy": "scipy",
    "pandas": "pandas",
    "sympy": "sympy",
    "torch": "torch",
    "torch_geometric": "torch-geometric",
}
#: Folders without documentation: tests, and code of others.
LEFT_OUT = frozenset({"tests", "test", "testing", "_testing", "_vendor", "externals"})
SHORTEST = 300  # characters; a module with less prose is no document


def read_docstrings() -> tuple[Iterator[str], str]:
    """Read the modules one after the other, each when it is asked for.

    Returns:
        The documents, one paragraph a line; and the packages with their versions.
    """
    source = ", ".join(f"{name} {version(name)}" for name in PACKAGES.values())
    return _documents(), f"docstrings of {source}"


def _documents() -> Iterator[str]:
    for package in PACKAGES:
        for file in _modules(package):
            document = "\n".join(module_prose(file.read_bytes()))
            if len(document) >= SHORTEST:
                yield document


def module_prose(source: bytes) -> Iterator[str]:
    """Yield the paragraphs of prose in a module's docstrings, in the order of the source.

    Args:
        source: The module's code. It is parsed, not executed; what this Python cannot parse has no prose.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of escapes that are not valid
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError):
            return
    for node in _statements(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from paragraphs(ast.get_docstring(node) or "")


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and the statements in it, depth first; ``ast.walk`` would visit every expression too."""
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield from _statements(child)


def _modules(package: str) -> list[Path]:
    """Return the files of a package, sorted by name; the package is found without importing it."""
    root = Path(importlib.util.find_spec(package).origin).parent
    files = {file.relative_to(root).as_posix(): file for file in root.rglob("*.py")}
    return [files[name] for name in sorted(files) if not LEFT_OUT.intersection(name.split("/")[:-1])]
