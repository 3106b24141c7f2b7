"""The notebook of the image study with a reader's parameters: a plan without any wave, whose profiles have no line."""

from __future__ import annotations

import nbformat
import pytest

from wavy.companion.runner import run_notebook

for package in ("papermill", "timm", "accelerate"):
    pytest.importorskip(package)


def test_it_runs_for_a_remedy_alone(tmp_path):
    chosen = ["plans=remedies", "residuals=rezero", "epochs=1"]
    path = run_notebook("deit", chosen, output=tmp_path / "out.ipynb")
    shown = "".join(str(cell.get("outputs", "")) for cell in nbformat.read(path, as_version=4).cells)
    assert "rezero: " in shown
    assert "Not so in this run: each kind" not in shown
