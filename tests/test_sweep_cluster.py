"""Sweeps on a real Dask scheduler with workers in other processes: nothing is lost, twice there, or hangs."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from pathlib import Path

import pytest

pytest.importorskip("distributed")

from cluster_kit import PYTHONPATH, DaskCluster
from sweep_kit import TESTS, FakeRun, FakeStudy, command, fake, seeds, started, until
from wavy import rowfile
from wavy.sweep import SweepError, cluster, sweep

# distributed leaves sockets and loops to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture
def dask(tmp_path):
    """A scheduler without workers."""
    (tmp_path / "dask").mkdir()
    found = DaskCluster(tmp_path / "dask")
    yield found
    found.end()


@pytest.fixture
def folder(tmp_path):
    """Where runs leave their traces."""
    (tmp_path / "traces").mkdir()
    return tmp_path / "traces"


def unfit(tmp_path, name):
    """Options for a worker that must not take runs."""
    folder = tmp_path / name
    if name == "no package":
        (folder / "wavy").mkdir(parents=True)
        (folder / "wavy" / "__init__.py").write_text("raise ModuleNotFoundError(\"No module named 'wavy'\")")
    if name == "other revision":
        shutil.copytree(TESTS.parent / "wavy", folder / "wavy", ignore=shutil.ignore_patterns("__pycache__"))
    return {"threads": 2} if name == "two threads" else {"pythonpath": os.pathsep.join([str(folder), PYTHONPATH])}


def do(address, runs, path, report=lambda line: None, **options):
    return sweep(runs, fake, scale="quick", path=path, cluster=address, report=report, **options)


def test_a_worker_killed_in_mid_run_loses_nothing(dask, tmp_path, folder):
    path, workers = tmp_path / "rows.jsonl", [dask.worker(), dask.worker()]
    runs = [FakeRun(seed=seed, seconds=0.3, folder=str(folder)) for seed in range(10)]

    def kill_in_mid_run():
        until(lambda: len(seeds(path)) >= 3)
        until(lambda: any(worker == workers[0].pid and seed not in seeds(path) for seed, worker in started(folder)))
        workers[0].kill()

    killer = threading.Thread(target=kill_in_mid_run)
    killer.start()
    table = do(dask.address, runs, path)
    killer.join()
    assert workers[0].wait() == -signal.SIGKILL
    assert sorted(seeds(path)) == list(range(10))
    assert table.seed.tolist() == list(range(10))
    begun = [seed for seed, _ in started(folder)]
    assert len(begun) > len(set(begun)), "the killed worker was not in mid-run"
    assert {worker for _, worker in started(folder)} == {worker.pid for worker in workers}


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("no package", "found No module named 'wavy', allowed wavy "),
        ("other revision", f"found wavy .*, revision unknown, allowed {cluster.CODE}"),
        ("two threads", "found 2 threads, allowed 1"),
    ],
)
def test_an_unfit_worker_is_named_before_any_work(dask, tmp_path, folder, name, found):
    dask.worker(**unfit(tmp_path, name))
    with pytest.raises(ValueError, match=rf"^cluster: worker tcp://127.0.0.1:\d+: {found}") as caught:
        do(dask.address, [FakeRun(folder=str(folder))], tmp_path / "rows.jsonl")
    assert "\n" not in str(caught.value)
    assert not started(folder)


def test_an_unfit_worker_that_comes_later_ends_the_sweep(dask, tmp_path, folder):
    """It would fail one run after the other in no time."""
    dask.worker()
    runs = [FakeRun(seed=seed, seconds=0.3, folder=str(folder)) for seed in range(100)]
    comes = threading.Thread(target=lambda: (until(lambda: started(folder)), dask.worker(threads=2)))
    comes.start()
    with pytest.raises(ValueError, match=r"worker tcp://\S+: found 2 threads, allowed 1"):
        do(dask.address, runs, tmp_path / "rows.jsonl")
    comes.join()
    assert seeds(tmp_path / "rows.jsonl")


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


@pytest.mark.parametrize("lost", ["scheduler", "worker"])
def test_a_lost_cluster_ends_the_sweep_and_the_rows_stand(dask, tmp_path, folder, monkeypatch, lost):
    monkeypatch.setattr(cluster, "PATIENCE_SECONDS", 1)
    lost_process = {"worker": dask.worker(), "scheduler": dask.scheduler}[lost]
    runs = [FakeRun(seed=seed, seconds=0.2, folder=str(folder)) for seed in range(100)]
    loses = threading.Thread(target=lambda: (until(lambda: seeds(tmp_path / "rows.jsonl")), lost_process.kill()))
    loses.start()
    with pytest.raises(
        ValueError, match=r"^cluster: (the scheduler at \S+ is gone|no worker .* for 1 s); the rows so far"
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


def test_ctrl_c_leaves_a_sweep_that_goes_on(dask, tmp_path, folder):
    dask.worker()
    arguments = ["sweep", "fake", "-p", "count=6", "-p", f"folder={folder}", "--rows", tmp_path / "rows.jsonl"]
    with command(*arguments, "-p", "seconds=0.5", "--cluster", dask.address) as process:
        until(lambda: len(started(folder)) > len(seeds(tmp_path / "rows.jsonl")) > 0)
        os.killpg(process.pid, signal.SIGINT)
        output, _ = process.communicate(timeout=20)
    standing = seeds(tmp_path / "rows.jsonl")
    assert process.returncode == 130
    assert output.splitlines()[-1] == f"stopped; {len(standing)} of 6 rows stand; the same command goes on"
    assert all(line.startswith("[") for line in output.splitlines()[:-1]), output
    do(dask.address, FakeStudy(count=6, seconds=0.5, folder=str(folder)).runs(), tmp_path / "rows.jsonl")
    assert sorted(seeds(tmp_path / "rows.jsonl")) == list(range(6))


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nowhere", "http://127.0.0.1:1"])
def test_no_scheduler_is_told_in_seconds_and_before_any_work(tmp_path, folder, monkeypatch, address):
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 1)
    begun = time.monotonic()
    with pytest.raises(
        ValueError, match=rf"^cluster: no scheduler answers at {address} \(.*\); start one: dask scheduler$"
    ):
        do(address, [FakeRun(folder=str(folder))], tmp_path / "rows.jsonl")
    assert time.monotonic() - begun < 5


def test_a_scheduler_without_workers_is_told(dask, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 1)
    with pytest.raises(ValueError, match=r"^cluster: no worker at tcp://\S+; dask worker tcp://\S+ --nthreads 1$"):
        do(dask.address, [FakeRun()], tmp_path / "rows.jsonl")
