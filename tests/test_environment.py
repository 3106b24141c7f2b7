"""One environment, told three times: pyproject.toml (ranges), requirements.lock (versions), environment.yml (conda)."""

from __future__ import annotations

import tomllib

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from conftest import ROOT
from wavy.companion.environment import PYTHON, environment, locked

LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
DIRECT = [Requirement(text) for text in PROJECT["dependencies"] + [r for extra in EXTRAS.values() for r in extra]]


def test_environment_yml_is_made_from_the_lock():
    text = (ROOT / "environment.yml").read_text(encoding="utf-8")
    assert text == environment(LOCK), "run: python -m wavy.companion.environment > environment.yml"


def test_environment_yml_gives_conda_the_versions_of_the_lock():
    recipe = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    pins = recipe["dependencies"][-1]["pip"]
    assert pins[-1] == "--editable ."
    in_recipe = {(r.name, str(r.specifier), str(r.marker or "")) for r in map(Requirement, pins[:-1])}
    in_lock = {(r.name, str(r.specifier), str(r.marker or "")) for r in map(_requirement, locked(LOCK))}
    assert in_recipe == in_lock
    assert f"python={PYTHON}" in recipe["dependencies"]
    assert PYTHON in PROJECT["requires-python"]


@pytest.mark.parametrize("requirement", DIRECT, ids=lambda r: r.name)
def test_the_lock_meets_pyproject(requirement):
    versions = [version for name, version, _ in locked(LOCK) if canonicalize_name(name) == requirement.name]
    assert versions, f"{requirement.name} is not in the lock: run make lock"
    assert all(version in requirement.specifier for version in versions)


def test_every_package_of_the_lock_has_hashes_and_comes_from_no_named_index():
    blocks = LOCK.replace("\\\n", " ").splitlines()
    assert len(blocks) == len(locked(LOCK)) > 100
    assert all("--hash=sha256:" in block for block in blocks)
    assert "://" not in LOCK


def test_the_installed_versions_are_the_locked_ones():
    from importlib.metadata import version  # noqa: PLC0415

    pinned = {name: v for name, v, marker in locked(LOCK) if not marker}
    wrong = {name: version(name) for name in ("torch", "torch-geometric", "jupyter-book", "nbval", "papermill")
             if version(name).split("+")[0] != pinned[name]}  # fmt: skip
    assert not wrong


def _requirement(pin: tuple[str, str, str]) -> Requirement:
    name, version, marker = pin
    return Requirement(f"{name}=={version}" + (f" ; {marker}" if marker else ""))
