"""The benchmarks run, at a tiny size, and say what they measured; no time is tested."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

pytest.importorskip("timm")
pytest.importorskip("transformers")

from benchmarks import allocator, epoch, imports, memory, nodes, rows, speed, tokens, ways
from benchmarks.models import CASES, TINY, build
from benchmarks.published import PublishedDIFFormer
from wavy import official
from wavy.dynamics import KINDS
from wavy.experiments.difformer import DifformerRun

ROOT = Path(__file__).parents[1]
MACHINE = {"threads", "device", "versions", "revision", "time"}


def test_interleaved_times_every_step_in_every_round_and_each_goes_first():
    calls = []
    steps = {name: lambda name=name: calls.append(name) for name in "abc"}
    found = speed.interleaved(steps, 5)
    assert {name: len(seconds) for name, seconds in found.items()} == {"a": 5, "b": 5, "c": 5}
    rounds = [calls[i : i + 3] for i in range(0, 18, 3)]
    assert all(sorted(each) == ["a", "b", "c"] for each in rounds)
    assert {each[0] for each in rounds} == {"a", "b", "c"}


def test_a_row_tells_spread_setting_and_machine(tmp_path):
    path = tmp_path / "rows.jsonl"
    for values in ([4.0, 1.0, 2.0, 3.0, 5.0], [7.0]):
        rows.write(path, "speed", values, "ratio", model="DeiT-Ti", batch=2)
    many, one = (json.loads(line) for line in path.read_text().splitlines())
    assert (many["value"], many["low"], many["high"], many["repeats"]) == (3, 2, 4, 5)
    assert (many["least"], many["most"]) == (1, 5)
    assert (one["value"], one["low"], one["high"], one["repeats"]) == (7, 7, 7, 1)
    assert many["model"] == "DeiT-Ti"
    assert set(many) >= MACHINE


def test_the_interval_of_the_median_holds_it_nineteen_times_in_twenty():
    draws = torch.randn(2000, 61, generator=torch.Generator().manual_seed(0)).exp()
    held = [s["least"] <= 1 <= s["most"] for s in map(rows.spread, draws.tolist())]
    assert 0.94 < sum(held) / len(held) < 0.98


def test_speed_measures_every_kind_against_stock():
    found = speed.run({"BERT": TINY["BERT"]}, None, repeats=2)
    assert [(row["step"], row["residual"]) for row in found] == [
        (step, kind) for step in ("inference", "training") for kind in ("stock", *KINDS)
    ]
    assert all(row["unit"] == ("s" if row["residual"] == "stock" else "ratio") for row in found)
    assert all(0 < row["low"] <= row["value"] <= row["high"] for row in found)
    assert {row["freed_memory"] for row in found} == {allocator.freed_memory()}


@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize("kind", ["stock", *KINDS])
def test_every_model_trains(name, kind):
    case = TINY[name]
    model, batch = build(case, kind), case.inputs(2)
    case.loss(model, batch).backward()
    assert all(p.grad is None or torch.isfinite(p.grad).all() for p in model.parameters())
    assert set(CASES) == set(TINY)


def test_every_way_computes_the_same():
    case = TINY["DeiT-Ti"]
    model, batch = build(case, "full").double(), case.inputs(2).double()
    found = {}
    for name, way in ways.WAYS.items():
        with way():
            loss = case.loss(model, batch)
            found[name] = torch.autograd.grad(loss, [p for p in model.parameters() if p.requires_grad])
    for name, gradients in found.items():
        pairs = zip(gradients, found["as it is"], strict=True)
        assert all(torch.allclose(a, b, atol=1e-10) for a, b in pairs), name


def test_ways_are_measured_for_both_steps():
    found = ways.run("DeiT-Ti", TINY["DeiT-Ti"], None, repeats=1)
    assert {(row["step"], row["way"]) for row in found} == {
        (step, way) for step in ("inference", "training") for way in ways.WAYS
    }


def test_memory_and_tokens_are_measured_in_processes_of_their_own(monkeypatch):
    monkeypatch.setattr(memory, "KINDS", ("light",))
    stock, light = memory.run({"BERT": TINY["BERT"]}, None, repeats=1)
    assert (stock["residual"], light["residual"]) == ("stock", "light")
    assert stock["value"] > 0
    seconds, size = tokens.run((512,), None, repeats=1)
    assert (seconds["unit"], size["unit"]) == ("s", "states")
    assert seconds["value"] > 0


def test_imports_are_measured():
    (row,) = imports.run(None, repeats=1)
    assert row["unit"] == "s"


def test_timed_processes_keep_freed_memory_and_those_whose_memory_is_measured_do_not(monkeypatch):
    started = []
    monkeypatch.setattr("os.execve", lambda *command: started.append(command))
    for name in allocator.KEEPING:
        monkeypatch.delenv(name, raising=False)
    assert allocator.freed_memory() == "default"
    allocator.restart_keeping(["speed"])
    [(_, command, environment)] = started
    assert command[1:] == ["-m", "benchmarks", "speed"]
    for name in allocator.KEEPING:
        monkeypatch.setenv(name, environment[name])
    assert allocator.freed_memory() == "kept"
    allocator.restart_keeping(["speed"])
    assert len(started) == 1
    assert not allocator.KEEPING.keys() & allocator.default_environment().keys()


SMALL = DifformerRun(dataset="digits", depth=2, hidden_channels=8, epochs=3, dtype="float64")


@pytest.mark.parametrize("name", ["difformer_simple_h1", "difformer_simple_h2"])
def test_the_published_difformer_is_the_published_one(golden, name):
    reference = golden(name)
    model = PublishedDIFFormer(official.load(reference.weights, family="difformer", **reference.meta)).eval()
    assert torch.allclose(model(reference.x, reference.edge_index), reference.logits, rtol=1e-9, atol=1e-12)


def test_the_published_epoch_takes_the_steps_of_our_training():
    setting = SMALL.model_copy(update={"dropout": 0.0})
    data = epoch.graph_of(setting)
    own, published = (fit(setting, data, 3) for fit in (epoch.fit_own, epoch.fit_published))
    parts = [f"{part}_accuracy" for part in ("train", "val", "test")]
    assert [own[part] for part in parts] == [published[part] for part in parts]


def test_an_epoch_is_measured_beside_the_published_one():
    published, own = epoch.run(None, SMALL, epochs=1, repeats=1)
    assert (published["way"], published["unit"], own["way"], own["unit"]) == ("published", "s", "wavy", "ratio")
    assert 0 < own["floor"] < 1
    rows = epoch.accuracy(None, SMALL, seeds=(0, 1))
    assert [(row["way"], row["repeats"]) for row in rows] == [("published", 2), ("wavy", 2)]


def test_nodes_are_measured_in_processes_of_their_own(monkeypatch):
    found = nodes.in_new_process(500, 1, allocator.returning_environment())
    assert len(found["seconds"]) == 1
    assert 0 < found["bytes"] < found["peak"] < nodes.LIMIT
    monkeypatch.setattr(nodes, "in_new_process", lambda count, *_: found | {"seconds": [count], "bytes": count**2})
    *rows, time_slope, memory_slope = nodes.run((500, 1000), None, repeats=1)
    assert [(row["nodes"], row["unit"], row["value"]) for row in rows] == [
        (500, "s", 500), (500, "bytes a node", 500), (1000, "s", 1000), (1000, "bytes a node", 1000)
    ]  # fmt: skip
    assert [time_slope["value"], memory_slope["value"]] == pytest.approx([1, 2])


ADDED = """
import gc
from benchmarks.peak import peak, reset_peak, resident
cycle = [b"x" * 2**27]
cycle.append(cycle)
del cycle  # garbage of 128 MiB, which the first full collection frees
b"x" * 2**29  # a peak of 512 MiB, and away again
reset_peak()
before = resident()
gc.collect()
held = b"x" * 2**27
print(peak() - before)
"""


def test_an_earlier_peak_and_garbage_do_not_hide_a_small_one():
    done = subprocess.run([sys.executable, "-c", ADDED], cwd=ROOT, capture_output=True, text=True, check=True)
    assert 0.9 * 2**27 < int(done.stdout) < 2 * 2**27
