"""A launcher around a sweep: its processes share each run, or its weights, too; rows and weights are those of one."""

from __future__ import annotations

import pytest
import torch

pytest.importorskip("accelerate")
pytest.importorskip("transformers")

import launched_sweep
from launch_kit import launch, needs_gloo
from sharding_kit import HAS_FSDP_2
from wavy import rowfile
from wavy.training.bert import pretrained_bert
from wavy.training.bert_metrics import bert_metrics
from wavy.training.weights import weights_file

pytestmark = needs_gloo

MEASURES = ("last_loss", "val_loss", "test_hidden_perplexity", "cosine", "gap")


@pytest.mark.parametrize("layer", [(), ("WavyBertLayer",)], ids=["copied", "sharded"])
def test_two_processes_share_the_runs_of_a_sweep(tmp_path, monkeypatch, layer):
    if layer and not HAS_FSDP_2:
        pytest.skip("this version of accelerate has no FSDP 2")
    launch(launched_sweep.__file__, str(tmp_path / "rows.jsonl"), *layer, WAVY_CACHE=str(tmp_path / "two"))
    found = [row["metrics"] for row in rowfile.read(tmp_path / "rows.jsonl")]
    runs = launched_sweep.runs()
    assert len(found) == len(runs)

    monkeypatch.setenv("WAVY_CACHE", str(tmp_path / "one"))
    for run, metrics in zip(runs, found, strict=True):
        alone = bert_metrics(run)
        assert {name: metrics[name] for name in MEASURES} == pytest.approx(
            {name: alone[name] for name in MEASURES}, rel=1e-6
        )
    one = pretrained_bert(runs[-1]).state_dict()
    monkeypatch.setenv("WAVY_CACHE", str(tmp_path / "two"))
    assert weights_file(runs[-1]).exists()
    for name, weights in pretrained_bert(runs[-1]).state_dict().items():
        torch.testing.assert_close(weights, one[name], rtol=1e-6, atol=1e-9)
