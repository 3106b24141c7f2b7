"""What a sweep on a Dask cluster refuses: no scheduler, no workers, and workers that would give other rows."""

from __future__ import annotations

import os
import shutil
import threading
import time

import pytest

pytest.importorskip("distributed")

from cluster_kit import PYTHONPATH
from sweep_kit import TESTS, FakeRun, fake, seeds, started, until
from wavy import __version__
from wavy.sweep import cluster, sweep

# distributed leaves sockets and loops to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


def unfit(tmp_path, name):
    """Options for a worker that must not take runs."""
    folder = tmp_path / name
    if name == "no package":
        (folder / "wavy").mkdir(parents=True)
        (folder / "wavy" / "__init__.py").write_text("raise ModuleNotFoundError(\"No module named 'wavy'\")")
    if name in ("other version", "changed line"):
        shutil.copytree(TESTS.parent / "wavy", folder / "wavy", ignore=shutil.ignore_patterns("__pycache__"))
        first = folder / "wavy" / "__init__.py"
        version = "0.0.0" if name == "other version" else __version__
        first.write_text(first.read_text().replace(__version__, version) + "\n")
    return {"threads": 2} if name == "two threads" else {"pythonpath": os.pathsep.join([str(folder), PYTHONPATH])}


def do(address, runs, path):
    return sweep(runs, fake, scale="quick", path=path, cluster=address, report=lambda line: None)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("no package", "found No module named 'wavy', allowed wavy "),
        ("other version", rf"found wavy 0.0.0, source \w+, allowed {cluster.CODE}"),
        ("changed line", rf"found wavy {__version__}, source \w+, allowed {cluster.CODE}"),
        ("two threads", "found 2 threads, allowed 1"),
    ],
)
def test_an_unfit_worker_is_named_before_any_work(dask, tmp_path, traces, name, found):
    dask.worker(**unfit(tmp_path, name))
    with pytest.raises(ValueError, match=rf"^cluster: worker tcp://127.0.0.1:\d+: {found}") as caught:
        do(dask.address, [FakeRun(folder=str(traces))], tmp_path / "rows.jsonl")
    assert "\n" not in str(caught.value)
    assert not started(traces)


def test_an_unfit_worker_that_comes_later_ends_the_sweep(dask, tmp_path, traces):
    """It would fail one run after the other in no time."""
    dask.worker()
    runs = [FakeRun(seed=seed, seconds=0.3, folder=str(traces)) for seed in range(100)]
    comes = threading.Thread(target=lambda: (until(lambda: started(traces)), dask.worker(threads=2)))
    comes.start()
    with pytest.raises(ValueError, match=r"worker tcp://\S+: found 2 threads, allowed 1"):
        do(dask.address, runs, tmp_path / "rows.jsonl")
    comes.join()
    assert seeds(tmp_path / "rows.jsonl")


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nowhere", "http://127.0.0.1:1"])
def test_no_scheduler_is_told_in_seconds_and_before_any_work(tmp_path, traces, monkeypatch, address):
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 1)
    begun = time.monotonic()
    with pytest.raises(
        ValueError, match=rf"^cluster: no scheduler answers at {address} \(.*\); start one: dask scheduler$"
    ):
        do(address, [FakeRun(folder=str(traces))], tmp_path / "rows.jsonl")
    assert time.monotonic() - begun < 5


def test_a_scheduler_without_workers_is_told(dask, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 1)
    with pytest.raises(ValueError, match=r"^cluster: no worker at tcp://\S+; dask worker tcp://\S+ --nthreads 1$"):
        do(dask.address, [FakeRun()], tmp_path / "rows.jsonl")
