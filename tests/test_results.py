"""Results rows survive killed processes, concurrent writers and half-written lines; sweeps resume."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import time

import pytest
from pydantic import ValidationError

from wavy import results
from wavy.experiments.difformer import DifformerRun, DifformerStudy
from wavy.sweep import sweep

KILLS = 20


def runs(count):
    return [DifformerRun(seed=seed) for seed in range(count)]


def fake(run, device):
    """Metrics that name their run, after a moment's work."""
    time.sleep(0.001)
    return {"test_accuracy": run.seed / 1000}


def row(seed=0, **metrics):
    return results.make_row(DifformerRun(seed=seed), "cpu", metrics or {"test_accuracy": 0.5}, 1.0, "cpu")


def endless_sweep(path, count):
    sweep(runs(count), fake, scale="cpu", path=path, report=lambda line: None)


def test_kill_9_during_a_sweep_loses_and_breaks_nothing(tmp_path):
    """Twenty sweeps over the same file, each killed at a random moment; then one that ends."""
    path, count = tmp_path / "rows.jsonl", 400
    context, chance, before = multiprocessing.get_context("fork"), random.Random(0), []
    for _ in range(KILLS):
        child = context.Process(target=endless_sweep, args=(path, count))
        child.start()
        time.sleep(0.02 + 0.06 * chance.random())
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        assert child.exitcode == -signal.SIGKILL, "the sweep ended before it could be killed"
        after = results.read(path)
        assert after[: len(before)] == before
        before = after
    assert 0 < len(before) < count
    endless_sweep(path, count)
    rows = results.read(path)
    assert sorted(row["seed"] for row in rows) == list(range(count))
    assert all(row["metrics"]["test_accuracy"] == row["seed"] / 1000 for row in rows)


@pytest.mark.parametrize("cut", [1, 10, -1])
def test_a_half_row_is_not_data_and_the_next_append_removes_it(tmp_path, cut):
    path = tmp_path / "rows.jsonl"
    results.append(path, row(0))
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:cut])
    assert [r["seed"] for r in results.read(path)] == [0]
    assert results.append(path, row(1))
    assert path.read_bytes().startswith(whole)
    assert [r["seed"] for r in results.read(path)] == [0, 1]


def append_all(path, seeds):
    for seed in seeds:
        results.append(path, row(seed))


def test_concurrent_writers_write_each_row_once(tmp_path):
    path = tmp_path / "rows.jsonl"
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=append_all, args=(path, range(30))) for _ in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert sorted(r["seed"] for r in results.read(path)) == list(range(30))


def test_a_row_has_the_agreed_keys_and_names_code_and_versions(tmp_path):
    path = tmp_path / "rows.jsonl"
    assert results.append(path, row())
    assert not results.append(path, row())
    (read,) = results.read(path)
    assert tuple(read) == results.KEYS
    assert read["params"]["lr"] == 1e-3
    assert {"python", "torch", "torch-geometric", "wavy"} <= set(read["versions"])
    assert results.frame(path).test_accuracy.tolist() == [0.5]


def test_rows_that_are_not_rows_are_refused_by_line(tmp_path):
    path = tmp_path / "rows.jsonl"
    results.append(path, row())
    for text in ("not json\n", "{}\n", json.dumps({**row(1), "extra": 1}) + "\n", "[]\n"):
        broken = tmp_path / "broken.jsonl"
        broken.write_text(path.read_text() + text)
        with pytest.raises(ValueError, match=r"broken.jsonl, line 2: not a results row"):
            results.read(broken)
        with pytest.raises(ValueError, match="line 2"):
            results.append(broken, row(2))
        assert broken.read_text() == path.read_text() + text
    with pytest.raises(ValueError, match="Out of range float values"):
        row(test_accuracy=float("nan"))
    with pytest.raises(ValueError, match="row: found keys"):
        results.append(path, {"experiment": "difformer"})


def test_hash_follows_the_parameters_and_not_their_defaults():
    plain = results.run_hash(DifformerRun())
    assert plain == results.run_hash(DifformerRun(lr=1e-3)) == results.params_hash("difformer", {})
    assert plain != results.run_hash(DifformerRun(lr=2e-3))
    assert results.params_hash("a", {"x": 1, "y": 2}) == results.params_hash("a", {"y": 2, "x": 1})


def test_sweep_skips_what_stands_and_returns_the_order_asked_for(tmp_path):
    path, lines = tmp_path / "rows.jsonl", []
    sweep(runs(3), fake, scale="cpu", path=path, report=lines.append)
    table = sweep(runs(5)[::-1], fake, scale="cpu", path=path, report=lines.append)
    assert table.seed.tolist() == [4, 3, 2, 1, 0]
    assert len(lines) == 5
    assert lines[-1].startswith("[2/2] cora diffusion depth 8 tau 0.5 seed 3: ")


def test_two_sweeps_over_one_file_share_the_work(tmp_path):
    path, done = tmp_path / "rows.jsonl", []

    def other_sweep_gets_there_first(run, device):
        done.append(run.seed)
        for seed in (run.seed, run.seed + 1):
            results.append(path, row(seed, test_accuracy=0.25))
        return {"test_accuracy": 0.75}

    table = sweep(runs(4), other_sweep_gets_there_first, scale="cpu", path=path, report=lambda line: None)
    assert done == [0, 2]
    assert len(results.read(path)) == 4
    assert table.test_accuracy[[1, 3]].tolist() == [0.25, 0.25]


def test_sweep_in_processes_gives_the_same_rows(tmp_path):
    table = sweep(runs(4), fake, scale="cpu", path=tmp_path / "rows.jsonl", jobs=2, report=lambda line: None)
    assert table.test_accuracy.tolist() == [0, 0.001, 0.002, 0.003]


def test_study_plans_the_scales_and_refuses_what_is_out_of_range():
    cpu = DifformerStudy(scale="cpu").runs()
    assert len(cpu) == 6 * 2 * 4 * 3
    assert len({results.run_hash(run) for run in cpu}) == len(cpu)
    assert {run.dtype for run in DifformerStudy().runs()} == {"float64"}
    assert [run.depth for run in DifformerStudy(depths=(3,), residuals=("light",)).runs()] == [3]
    for bad in ({"depth": 4}, {"taus": (0.0,)}, {"residuals": ("wave",)}, {"seeds": (-1,)}, {"scale": "large"}):
        with pytest.raises(ValidationError):
            DifformerStudy(**bad)
