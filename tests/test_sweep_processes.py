"""Sweeps whose processes are interrupted or killed: each can be resumed, and none leaves a process behind."""

from __future__ import annotations

import os
import signal

import pytest

from sweep_kit import FakeRun, FakeStudy, alive, children, command, fake, seeds, started, until
from wavy.sweep import SweepError, sweep


def test_a_process_that_dies_costs_no_other_run(tmp_path):
    runs = [FakeRun(seed=seed, act="die" if seed == 1 else "work") for seed in range(5)]
    with pytest.raises(SweepError) as caught:
        sweep(runs, fake, scale="quick", path=tmp_path / "rows.jsonl", jobs=2, report=lambda line: None)
    assert str(caught.value).splitlines()[1:] == [
        "none seed 1 act die: its process died, also when it ran alone: killed, or out of memory"
    ]
    assert sorted(seeds(tmp_path / "rows.jsonl")) == [0, 2, 3, 4]


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_ends_all_processes_and_the_same_command_goes_on(tmp_path, traces, jobs):
    arguments = ["sweep", "fake", "-p", "count=6", "-p", f"folder={traces}", "--rows", tmp_path / "rows.jsonl"]
    with command(*arguments, "-p", "seconds=0.3", "--jobs", jobs) as process:
        until(lambda: seeds(tmp_path / "rows.jsonl"))
        until(lambda: len(started(traces)) > len(seeds(tmp_path / "rows.jsonl")))
        os.killpg(process.pid, signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    standing = seeds(tmp_path / "rows.jsonl")
    assert 0 < len(standing) < 6
    assert process.returncode == 130
    assert output.splitlines()[-1] == f"stopped; {len(standing)} of 6 rows stand; the same command goes on"
    assert all(line.startswith("[") for line in output.splitlines()[:-1]), output
    assert not any(alive(number) for _, number in started(traces))
    runs = FakeStudy(count=6, seconds=0.3, folder=str(traces)).runs()
    sweep(runs, fake, scale="quick", path=tmp_path / "rows.jsonl", report=lambda line: None)
    assert sorted(seeds(tmp_path / "rows.jsonl")) == list(range(6))


def test_ctrl_c_while_the_processes_start_is_as_quiet(tmp_path):
    with command("sweep", "fake", "--jobs", 2, "--rows", tmp_path / "rows.jsonl") as process:
        until(lambda: len(children(process.pid)) >= 4)  # two for runs, joblib's own and Python's own
        begun = children(process.pid)
        os.killpg(process.pid, signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert output == "stopped; 0 of 4 rows stand; the same command goes on\n"
    until(lambda: not any(map(alive, begun)), seconds=20)


def test_a_killed_parent_loses_no_row_and_leaves_no_process(tmp_path, traces):
    arguments = ["sweep", "fake", "-p", "count=200", "-p", f"folder={traces}", "--rows", tmp_path / "rows.jsonl"]
    with command(*arguments, "-p", "seconds=0.2", "--jobs", 2) as process:
        until(lambda: len(seeds(tmp_path / "rows.jsonl")) >= 2)
        process.kill()
        process.wait()
        until(lambda: not any(alive(number) for _, number in started(traces)), seconds=20)
        standing = seeds(tmp_path / "rows.jsonl")
    assert len(started(traces)) - 2 <= len(standing) == len(set(standing))
