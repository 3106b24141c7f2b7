"""Tiny runs of the language experiments: text that needs no data, models of two layers."""

from __future__ import annotations

import pytest

pytest.importorskip("accelerate")
pytest.importorskip("transformers")

from wavy.dynamics import MIXED_KINDS
from wavy.experiments.bert_run import BertRun
from wavy.experiments.gpt2 import Gpt2Run

TINY = {
    "dataset": "docstrings", "limit": 150_000, "vocab_size": 400, "depth": 2, "dim": 16, "heads": 2, "mlp_dim": 24,
    "length": 24, "steps": 4, "batch_size": 8, "evaluated": 20, "dropout": 0.0, "precision": "float64",
}  # fmt: skip


def tiny_bert(kind="diffusion", **options):
    return BertRun(residual=kind, **TINY | {"theta_init": 0.0 if kind in MIXED_KINDS else None} | options)


def tiny_gpt2(kind="diffusion", **options):
    return Gpt2Run(residual=kind, **TINY | {"theta_init": 0.0 if kind in MIXED_KINDS else None} | options)


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """A cache of weights for one test."""
    monkeypatch.setenv("WAVY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
