"""The README's Python runs, and its commands use parameters that exist."""

from __future__ import annotations

import re

import pytest

from conftest import ROOT
from wavy.companion.parameters import check_parameters, read_parameters
from wavy.companion.source import read_source
from wavy.experiments import EXPERIMENTS

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
COMMANDS = re.findall(r"^ +wavy (?:run|sweep) (\w+)(.*?)(?: +#.*)?$", README, flags=re.MULTILINE)


@pytest.mark.parametrize("block", BLOCKS)
def test_python_blocks_run(block):
    exec(compile(block, "README.md", "exec"), {})


@pytest.mark.parametrize(("name", "options"), COMMANDS)
def test_commands_name_parameters_that_exist(name, options):
    source = ROOT / "notebooks" / f"{name}.md"
    defaults = read_parameters(read_source(source)) if source.exists() else EXPERIMENTS[name]().model_dump(mode="json")
    assert check_parameters(name, defaults, re.findall(r"-p (\S+)", options)) is not None


def test_there_is_something_to_test():
    assert len(BLOCKS) >= 2
    assert len(COMMANDS) >= 3


@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "notebooks").glob("*.md")))
def test_every_notebook_has_a_parameter_class_with_its_defaults(name):
    defaults = read_parameters(read_source(ROOT / "notebooks" / f"{name}.md"))
    assert EXPERIMENTS[name]().model_dump(mode="json") == defaults
