"""The benchmarks run, at a tiny size, and say what they measured; no time is tested."""

from __future__ import annotations

import json

import pytest
import torch

pytest.importorskip("timm")
pytest.importorskip("transformers")

from benchmarks import allocator, imports, memory, rows, speed, tokens, ways
from benchmarks.models import CASES, TINY, build
from wavy.dynamics import KINDS

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
