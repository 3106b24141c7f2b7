"""Small checkouts for the tests of the notebook machinery: a folder with notebooks/, as the commands expect it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_output

from wavy.companion.paths import Layout
from wavy.companion.source import code_cells, read_source, write_notebook

ROOT = Path(__file__).parents[1]
HEADER = "---\nkernelspec:\n  display_name: Python 3\n  language: python\n  name: python3\n---\n\n# A notebook\n"


def code(source: str, *tags: str, tolerance: str = "") -> str:
    """Return a code cell in MyST; ``tolerance`` is YAML such as "{rtol: 0.1}"."""
    options = [f":tags: [{', '.join(tags)}]"] if tags else []
    options += [f":tolerance: {tolerance}"] if tolerance else []
    return "\n".join(["\n```{code-cell} ipython3", *options, *([""] if options else []), source, "```\n"])


def checkout(folder: Path, **notebooks: list[str]) -> Layout:
    """Make a checkout at ``folder`` with the given notebooks: name=[cell, ...]."""
    layout = Layout(folder / "notebooks")
    layout.notebooks.mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").touch()
    shutil.copy(ROOT / "notebooks" / "conftest.py", layout.notebooks)
    for name, cells in notebooks.items():
        layout.source(name).write_text(HEADER + "".join(cells), encoding="utf-8")
    return layout


def stdout(text: str) -> NotebookNode:
    return new_output("stream", name="stdout", text=text)


def result(**data: str) -> NotebookNode:
    """Return an execute_result; formats are given as text_plain="..." or image_png="..."."""
    return new_output("execute_result", data={mime.replace("_", "/", 1): text for mime, text in data.items()})


def executed(layout: Layout, name: str, *outputs: list[NotebookNode]) -> NotebookNode:
    """Return the notebook as if run, with the given outputs of its code cells."""
    nb = read_source(layout.source(name))
    for number, (cell, given) in enumerate(zip(code_cells(nb), outputs, strict=True), start=1):
        cell.execution_count, cell.outputs = number, [nbformat.from_dict(output) for output in given]
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = number
    return nb


def commit(layout: Layout, name: str, nb: NotebookNode) -> None:
    """Put ``nb`` in the place of the reference."""
    layout.reference(name).write_text(write_notebook(nb), encoding="utf-8")


def put_config(folder: Path) -> None:
    """Make ``folder`` a pytest root with the settings and the notebook hooks of this repository."""
    shutil.copy(ROOT / "pyproject.toml", folder)
    shutil.copy(ROOT / "notebooks" / "conftest.py", folder)


def nbval(folder: Path, *options: str) -> dict[str, dict[str, str]]:
    """Run ``pytest --nbval`` on ``folder``; return its subfolders' items with what became of them.

    An item is "reference" or "Cell k"; it is "passed", or else how it failed or why it was skipped.
    """
    report = folder / "report.xml"
    command = [sys.executable, "-m", "pytest", "--nbval", str(folder), f"--junitxml={report}", *options]
    path = os.pathsep.join([str(ROOT / "tests"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PYTHONPATH": path}
    run = subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True, env=env, timeout=300)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    outcomes: dict[str, dict[str, str]] = defaultdict(dict)
    for case in ElementTree.parse(report).iter("testcase"):
        subfolder = case.attrib["classname"].split(".")[0]
        outcomes[subfolder][case.attrib["name"]] = (
            " ".join(f"{child.tag}: {child.attrib['message']} {child.text}" for child in case) or "passed"
        )
    return outcomes
