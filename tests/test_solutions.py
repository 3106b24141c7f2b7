"""The solutions of the exercises run: every public function in book/solutions returns without an error."""

from __future__ import annotations

import importlib.util
import inspect
import re
from types import ModuleType

import pytest

from conftest import ROOT

FILES = sorted((ROOT / "book" / "solutions").glob("*.py"))
CHAPTERS = sorted((ROOT / "book").glob("*.md"))


def load(path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"solutions_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def solutions(path) -> dict[str, object]:
    module = load(path)
    functions = inspect.getmembers(module, inspect.isfunction)
    return {name: f for name, f in functions if f.__module__ == module.__name__ and not name.startswith("_")}


CASES = [(path, name) for path in FILES for name in solutions(path)]


@pytest.mark.parametrize(("path", "name"), CASES, ids=lambda value: getattr(value, "stem", value))
def test_solution_runs(path, name):
    solutions(path)[name]()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_solution_is_shown_in_its_chapter(path):
    chapter = (ROOT / "book" / path.name).with_suffix(".md").read_text(encoding="utf-8")
    shown = set(re.findall(rf"solutions/{path.name}\n:pyobject: (\w+)", chapter))
    assert set(solutions(path)) - shown == set()


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_every_exercise_has_a_folded_solution(chapter):
    text = chapter.read_text(encoding="utf-8")
    exercises = re.findall(r"\{exercise\}[^\n]*\n(?::[^\n]*\n)*?:label: (\S+)", text)
    assert len(exercises) == text.count("{exercise}"), "an exercise without a label"
    folded = re.findall(r"\{solution\} (\S+)\n:class: dropdown", text)
    assert sorted(exercises) == sorted(folded)
    if "{chapter-head}" in text:
        assert len(exercises) >= 3
