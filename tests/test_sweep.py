"""Sweeps on one machine: failed and killed runs do not stop the others, and every sweep can be stopped and resumed."""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace

import joblib
import pytest
import torch
from typer.testing import CliRunner

import wavy.sweep
from sweep_kit import FakeRun, FakeStudy, fake, seeds, started
from wavy import results, rowfile
from wavy.cli import app
from wavy.experiments import EXPERIMENTS
from wavy.sweep import SweepError, sweep


def do(runs, path, **options):
    """A sweep and its lines of progress."""
    lines = []
    return sweep(runs, fake, scale="quick", path=path, report=lines.append, **options), lines


@pytest.fixture(autouse=True)
def three_threads(monkeypatch):
    """What the processes of a sweep find in the environment."""
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")


@pytest.fixture
def wavy_command(tmp_path, monkeypatch):
    """Call the command with the experiment ``fake``."""
    monkeypatch.setitem(EXPERIMENTS, "fake", FakeStudy)
    monkeypatch.setitem(sys.modules, "wavy.training.runners", SimpleNamespace(RUNNERS={"fake": fake}))
    return lambda *arguments: CliRunner().invoke(app, ["sweep", "fake", *map(str, arguments)])


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_failed_run_leaves_no_row_and_does_not_stop_the_others(tmp_path, jobs):
    runs = [FakeRun(seed=seed, act="fail" if seed in (0, 2) else "work") for seed in range(5)]
    lines = []
    with pytest.raises(SweepError) as caught:
        sweep(runs, fake, scale="quick", path=tmp_path / "rows.jsonl", jobs=jobs, report=lines.append)
    first, *failed = str(caught.value).splitlines()
    assert first == "2 of 5 runs failed and have no row:"
    assert sorted(line.split(" (")[0] for line in failed) == [
        f"none seed {seed} act fail: ValueError: no luck" for seed in (0, 2)
    ]
    assert "in fake" in caught.value.__notes__[0]
    assert len(lines) == 5
    assert sorted(seeds(tmp_path / "rows.jsonl")) == [1, 3, 4]


def test_the_command_lists_failed_runs_and_ends_with_status_1(tmp_path, wavy_command):
    result = wavy_command("-p", "failing=1", "--jobs", 1, "--rows", tmp_path / "rows.jsonl")
    assert result.exit_code == 1
    assert result.stderr.splitlines()[0] == "wavy: 1 of 4 runs failed and have no row:"
    assert result.stderr.splitlines()[1].startswith("none seed 1 act fail: ValueError: no luck (sweep_kit.py:")
    assert len(result.stderr.splitlines()) == 2
    assert seeds(tmp_path / "rows.jsonl") == [0, 2, 3]


def test_processes_have_one_thread_whatever_the_environment_says(tmp_path):
    table, _ = do([FakeRun(seed=seed) for seed in range(3)], tmp_path / "rows.jsonl", jobs=2)
    assert os.getpid() not in set(table.process)
    assert set(table.threads) == set(table.library_threads) == {1}


@pytest.mark.parametrize("jobs", [1, 2])
def test_when_the_time_is_up_the_first_runs_stand_and_the_sweep_ends_normally(tmp_path, traces, jobs):
    path, order = tmp_path / "rows.jsonl", [5, 3, 4, 0, 2, 1, *range(6, 200)]
    runs = [FakeRun(seed=seed, seconds=0.05, folder=str(traces)) for seed in order]
    do(runs[:2], path, jobs=jobs)
    table, lines = do(runs, path, jobs=jobs, minutes=1 / 60)
    done = [seed for seed, _ in started(traces)]
    assert 2 < len(done) < 200
    assert sorted(done) == sorted(order[: len(done)])
    assert sorted(seeds(path)) == sorted(done) == sorted(table.seed)
    assert lines[-1] == f"time is up: {len(done)} of 200 rows stand ({len(done) / 200:.0%})"


def test_no_run_waits_in_a_queue_when_the_time_is_up(tmp_path, traces):
    runs = [FakeRun(seed=seed, seconds=1, folder=str(traces)) for seed in range(8)]
    do(runs, tmp_path / "rows.jsonl", jobs=2, minutes=0.5 / 60)
    assert len(started(traces)) <= 2


def test_runs_start_in_their_order(tmp_path, traces):
    order = [3, 0, 2, 1, 4]
    do([FakeRun(seed=seed, folder=str(traces)) for seed in order], tmp_path / "rows.jsonl")
    assert [seed for seed, _ in started(traces)] == order


def test_a_run_asked_for_twice_is_done_once(tmp_path, traces):
    table, lines = do([FakeRun(folder=str(traces))] * 2, None)
    assert len(table) == 2
    assert len(started(traces)) == len(lines) == 1


def test_rows_of_a_model_without_depth_and_tau(tmp_path):
    """Their values are None, in the file and in the table."""
    table, lines = do([FakeRun(seed=3)], tmp_path / "rows.jsonl")
    (row,) = rowfile.read(tmp_path / "rows.jsonl")
    assert (row["residual"], row["depth"], row["tau"]) == (None, None, None)
    assert table.tau.isna().all()
    assert results.select(tmp_path / "rows.jsonl", [FakeRun(seed=3)]).seed.tolist() == [3]
    assert lines == ["[1/1] none seed 3: 0 s, about 0 min left"]


def test_the_command_takes_a_process_for_each_physical_core(tmp_path, monkeypatch, wavy_command):
    taken = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(wavy.sweep, "sweep", lambda *args, jobs, **options: taken.append(jobs) or [])
    for options in ([], ["-p", "device=cuda"], ["--jobs", "3"]):
        assert wavy_command(*options, "--rows", tmp_path / "rows.jsonl").exit_code == 0
    assert taken == [joblib.cpu_count(only_physical_cores=True), 1, 3]


def test_the_command_looks_for_the_gpu_before_the_first_run(tmp_path, traces, monkeypatch, wavy_command):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    result = wavy_command("-p", f"folder={traces}", "-p", "device=cuda", "--rows", tmp_path / "rows.jsonl")
    assert result.exit_code == 1
    assert result.stderr == "wavy: device: found 'cuda', but torch sees no GPU here; allowed cpu\n"
    assert not started(traces)
    assert not (tmp_path / "rows.jsonl").exists()


def test_a_row_that_cannot_be_written_ends_the_sweep_at_once(tmp_path, traces, monkeypatch, wavy_command):
    def full(path, row):
        raise OSError("no space left")

    monkeypatch.setattr(rowfile, "append", full)
    result = wavy_command("-p", f"folder={traces}", "--jobs", 1, "--rows", tmp_path / "rows.jsonl")
    assert result.exit_code == 1
    assert result.stderr == "wavy: rows.jsonl: a row could not be written (no space left); the rows so far stand\n"
    assert len(started(traces)) == 1


def test_the_command_refuses_processes_beside_a_cluster_and_a_cluster_without_dask(tmp_path, monkeypatch, wavy_command):
    result = wavy_command("--jobs", 2, "--cluster", "tcp://127.0.0.1:9", "--rows", tmp_path / "rows.jsonl")
    assert result.exit_code == 1
    assert result.stderr == "wavy: jobs: found 2, allowed none with --cluster: its workers do the runs\n"
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.delitem(sys.modules, "wavy.sweep.cluster", raising=False)
    result = wavy_command("--cluster", "tcp://127.0.0.1:9", "--rows", tmp_path / "rows.jsonl")
    assert result.exit_code == 1
    assert result.stderr == 'wavy: the package distributed is missing; install the extra: pip install "wavy[cluster]"\n'
