"""The graph study's notebook on graphs with other labels and another measure than Cora's."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import nbformat
import pytest

import ogb_kit
from wavy.companion.runner import run_notebook

WRITERS = {"ogbn-arxiv": ogb_kit.write_arxiv, "ogbn-proteins": ogb_kit.write_proteins}
SMALL = ["depths=2", "seeds=0", "epochs=3", "residuals=diffusion,light"]


@pytest.fixture
def data_folder(tmp_path, monkeypatch):
    """A data folder with all that $WAVY_DATA has, and a place for OGB's graphs."""
    for package in ("ogb", "papermill"):
        if find_spec(package) is None:
            pytest.skip(f"the package {package} is not installed")
    root = tmp_path / "data"
    root.mkdir()
    if known := os.environ.get("WAVY_DATA"):
        for path in Path(known).iterdir():
            (root / path.name).symlink_to(path)
    monkeypatch.setenv("WAVY_DATA", str(root))
    return root


@pytest.mark.parametrize("name", WRITERS)
def test_it_runs_on_graphs_of_the_open_graph_benchmark(name, data_folder, tmp_path):
    WRITERS[name](data_folder / "ogb")
    path = run_notebook("difformer", [f"dataset={name}", *SMALL], output=tmp_path / "out.ipynb")
    cells = nbformat.read(path, as_version=4).cells
    shown = "".join(str(cell.get("outputs", "")) for cell in cells)
    assert f"nodes {ogb_kit.NODES}" in " ".join(shown.replace("\\n", " ").split())
    assert ("share between classes" in shown) == (name == "ogbn-arxiv")
