"""Sweeps on a real Dask scheduler with workers in other processes: nothing is lost, twice there, or hangs."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

pytest.importorskip("distributed")

from sweep_kit import FakeRun, FakeStudy, command, fake, seeds, started, until
from wavy import rowfile
from wavy.sweep import SweepError, cluster, sweep

# distributed leaves sockets and loops to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


def do(address, runs, path):
    return sweep(runs, fake, scale="quick", path=path, cluster=address, report=lambda line: None)


def test_a_worker_killed_in_mid_run_loses_nothing(dask, tmp_path, traces):
    path, workers = tmp_path / "rows.jsonl", [dask.worker(), dask.worker()]
    runs = [FakeRun(seed=seed, seconds=0.3, folder=str(traces)) for seed in range(10)]

    def kill_in_mid_run():
        until(lambda: len(seeds(path)) >= 3)
        until(lambda: any(worker == workers[0].pid and seed not in seeds(path) for seed, worker in started(traces)))
        workers[0].kill()

    killer = threading.Thread(target=kill_in_mid_run)
    killer.start()
    table = do(dask.address, runs, path)
    killer.join()
    assert workers[0].wait() == -signal.SIGKILL
    assert sorted(seeds(path)) == list(range(10))
    assert table.seed.tolist() == list(range(10))
    begun = [seed for seed, _ in started(traces)]
    assert len(begun) > len(set(begun)), "the killed worker was not in mid-run"
    assert {worker for _, worker in started(traces)} == {worker.pid for worker in workers}


def test_a_run_that_kills_its_workers_has_failed_and_the_others_wait_for_a_new_one(dask, tmp_path):
    dask.worker(), dask.worker()
    runs = [FakeRun(seed=seed, act="die" if seed == 1 else "work") for seed in range(4)]
    comes = threading.Thread(
        target=lambda: (until(lambda: all(worker.poll() for worker in dask.processes[1:])), dask.worker())
    )
    comes.start()
    with pytest.raises(SweepError) as caught:
        do(dask.address, runs, tmp_path / "rows.jsonl")
    comes.join()
    assert str(caught.value).splitlines()[1:] == [
        "none seed 1 act die: each worker that took it died: killed, or out of memory"
    ]
    assert sorted(seeds(tmp_path / "rows.jsonl")) == [0, 2, 3]


@pytest.mark.parametrize("lost", ["scheduler", "scheduler that hangs", "worker"])
def test_a_lost_cluster_ends_the_sweep_and_the_rows_stand(dask, tmp_path, traces, monkeypatch, lost):
    monkeypatch.setattr(cluster, "PATIENCE_SECONDS", 1)
    monkeypatch.setattr(cluster, "ANSWER_SECONDS", 5)
    worker = dask.worker()
    lost_process = worker if lost == "worker" else dask.scheduler
    fate = signal.SIGSTOP if lost.endswith("hangs") else signal.SIGKILL
    runs = [FakeRun(seed=seed, seconds=0.2, folder=str(traces)) for seed in range(100)]
    loses = threading.Thread(
        target=lambda: (until(lambda: seeds(tmp_path / "rows.jsonl")), os.kill(lost_process.pid, fate))
    )
    loses.start()
    with pytest.raises(
        ValueError,
        match=r"^cluster: (the scheduler at \S+ is gone or does not answer|no worker .* for 1 s); the rows so far",
    ):
        do(dask.address, runs, tmp_path / "rows.jsonl")
    loses.join()
    assert 0 < len(seeds(tmp_path / "rows.jsonl")) < 100


def test_rows_travel_to_the_caller_who_writes_them(dask, tmp_path, monkeypatch):
    """Workers need not see the file: here they are in another folder."""
    worker = dask.worker()
    monkeypatch.chdir(tmp_path)
    table = do(dask.address, [FakeRun(seed=seed) for seed in range(3)], Path("rows.jsonl"))
    assert set(table.process) == {worker.pid}
    assert set(table.threads) == {1}
    assert len(rowfile.read(tmp_path / "rows.jsonl")) == 3
    assert not (dask.folder / "rows.jsonl").exists()


def test_ctrl_c_leaves_a_sweep_that_goes_on(dask, tmp_path, traces):
    dask.worker()
    arguments = ["sweep", "fake", "-p", "count=6", "-p", f"folder={traces}", "--rows", tmp_path / "rows.jsonl"]
    with command(*arguments, "-p", "seconds=0.5", "--cluster", dask.address) as process:
        until(lambda: len(started(traces)) > len(seeds(tmp_path / "rows.jsonl")) > 0)
        os.killpg(process.pid, signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    standing = seeds(tmp_path / "rows.jsonl")
    assert process.returncode == 130
    assert output.splitlines()[-1] == f"stopped; {len(standing)} of 6 rows stand; the same command goes on"
    assert all(line.startswith("[") for line in output.splitlines()[:-1]), output
    do(dask.address, FakeStudy(count=6, seconds=0.5, folder=str(traces)).runs(), tmp_path / "rows.jsonl")
    assert sorted(seeds(tmp_path / "rows.jsonl")) == list(range(6))
