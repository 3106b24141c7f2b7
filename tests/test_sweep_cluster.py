"""Sweeps on a real Dask scheduler with workers in other processes: nothing is lost, nothing stands twice, nothing hangs."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
import time

import pytest
from typer.testing import CliRunner

pytest.importorskip("distributed")

from cluster_kit import PYTHONPATH, DaskCluster
from sweep_kit import TESTS, FakeRun, FakeStudy, command, fake, seeds, started, until
from wavy import rowfile
from wavy.cli import app
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


def do(address, runs, path, report=lambda line: None, **options):
    return sweep(runs, fake, scale="quick", path=path, cluster=address, report=report, **options)


def test_a_worker_killed_in_mid_run_loses_nothing(dask, tmp_path, folder):
    path, workers = tmp_path / "rows.jsonl", [dask.worker(), dask.worker()]
    runs = [FakeRun(seed=seed, seconds=0.3, folder=str(folder)) for seed in range(10)]

    def kill():
        until(lambda: len(seeds(path)) >= 3)
        running = [process for seed, process in started(folder) if seed not in seeds(path)]
        os.kill(next(process for process in running if process == workers[0].pid), signal.SIGKILL)

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
