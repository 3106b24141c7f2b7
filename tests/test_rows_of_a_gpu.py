"""The notebook that reads the rows of all studies, where there are those of scale gpu: other plans, fewer seeds."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

pytest.importorskip("transformers")
pytest.importorskip("papermill")

from wavy import results, rowfile
from wavy.companion.paths import Layout
from wavy.experiments import EXPERIMENTS

LAYOUT = Layout.find()


def recorded_metrics(name):
    """By residual kind, the metrics of one recorded row of an experiment."""
    rows = rowfile.read(LAYOUT.root / "results" / f"{name}.jsonl")
    return {row["params"].get("residual"): row["metrics"] for row in rows if not row["metrics"].get("diverged")}


def test_trained_models_of_a_gpu_are_read(tmp_path):
    shutil.copy(LAYOUT.root / "pyproject.toml", tmp_path)
    shutil.copytree(LAYOUT.notebooks, tmp_path / "notebooks", ignore=shutil.ignore_patterns("*.ipynb"))
    (tmp_path / "results").mkdir()
    for name in ("bert", "gpt2", "deit"):
        metrics = recorded_metrics(name)
        for run in EXPERIMENTS[name](scale="gpu", device="cuda").runs():
            if run.residual in metrics:
                row = results.make_row(run, "gpu", metrics[run.residual], 1.0, "cuda")
                rowfile.append(tmp_path / "results" / f"{name}.jsonl", row)
    command = [sys.executable, "-m", "wavy", "run", "trained", "-p", "scale=gpu", "--output", "out.ipynb"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # Statements are about the rows of scale cpu: here some of them say that they are not so.
    assert (tmp_path / "out.ipynb").is_file()
