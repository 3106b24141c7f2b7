"""Where things lie: the notebooks, their references, and the scratch folder ``_build/``.

Every command takes its places from one ``Layout``, so that the tests can work on a copy in a temporary folder.
"""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass
from pathlib import Path


class CompanionError(ValueError):
    """Something the user can put right, told in one line."""


@dataclass(frozen=True)
class Layout:
    """The folders of one checkout.

    Args:
        notebooks: the folder that holds ``NAME.md`` (the source) and ``NAME.ipynb`` (the executed reference).
    """

    notebooks: Path

    @classmethod
    def find(cls, start: Path | None = None) -> Layout:
        """Return the layout of the checkout that contains ``start`` (default: the current folder).

        Raises:
            CompanionError: no folder from ``start`` upwards holds ``notebooks/`` beside ``pyproject.toml``.
        """
        start = (start or Path.cwd()).resolve()
        for folder in (start, *start.parents):
            if (folder / "notebooks").is_dir() and (folder / "pyproject.toml").is_file():
                return cls(folder / "notebooks")
        raise CompanionError(f"no notebooks/ beside a pyproject.toml in {start} or above: call it inside the checkout")

    @property
    def root(self) -> Path:
        return self.notebooks.parent

    @property
    def build(self) -> Path:
        return self.root / "_build"

    def names(self) -> list[str]:
        """Return the stems of all sources ``NAME.md``, in alphabetical order."""
        return sorted(path.stem for path in self.notebooks.glob("*.md"))

    def source(self, name: str) -> Path:
        return self.notebooks / f"{name}.md"

    def reference(self, name: str) -> Path:
        return self.notebooks / f"{name}.ipynb"

    def require(self, name: str) -> str:
        """Return ``name`` if there is such a notebook.

        Raises:
            CompanionError: there is none; the line names the nearest one.
        """
        if name not in self.names():
            raise CompanionError(f'no notebook "{name}"{suggest(name, self.names())}')
        return name


def locate(notebook: str) -> tuple[Layout, str]:
    """Return the layout and the stem that ``notebook``, a stem or a path to a .md or .ipynb file, stands for.

    Raises:
        CompanionError: there is no such notebook, or it has no source ``NAME.md``.
    """
    path = Path(notebook)
    if path.suffix not in (".md", ".ipynb") and path.name == notebook:
        layout = Layout.find()
        return layout, layout.require(notebook)
    layout = Layout(path.resolve().parent)
    return layout, layout.require(path.stem)


def suggest(word: str, known: list[str]) -> str:
    """Return the end of an error line that names the nearest of the ``known`` words, and all of them."""
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    hint = f'; did you mean "{near[0]}"?' if near else ""
    return f"{hint} (known: {', '.join(known) or 'none'})"


def write_atomically(path: Path, text: str) -> None:
    """Write ``text`` to ``path`` so that a reader, or a crash, never meets half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    draft.write_text(text, encoding="utf-8")
    os.replace(draft, path)
