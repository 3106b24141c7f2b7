"""A Dask scheduler and its workers in processes of their own, for tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from sweep_kit import TESTS, until

#: Where workers find wavy and the fake runs.
PYTHONPATH = os.pathsep.join([str(TESTS), str(TESTS.parent)])


class DaskCluster:
    """Processes in a temporary folder. A run whose worker dies is done again once.

    Args:
        folder: where the scheduler leaves its address, and the processes their messages.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes: list[subprocess.Popen] = []
        self.file = folder / "scheduler.json"
        self.scheduler = self._start("dask_scheduler", "--host", "127.0.0.1", "--port", "0")
        until(self.file.exists)
        until(self.file.read_text)
        self.address = json.loads(self.file.read_text())["address"]

    def worker(self, *, threads: int = 1, pythonpath: str = PYTHONPATH) -> subprocess.Popen:
        """A worker that no nanny starts anew when it is killed."""
        return self._start("dask_worker", "--no-nanny", "--nthreads", threads, pythonpath=pythonpath)

    def __enter__(self) -> DaskCluster:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes:
            process.kill()
            process.wait()

    def _start(self, program: str, *options: object, pythonpath: str = PYTHONPATH) -> subprocess.Popen:
        words = [sys.executable, "-P", "-m", f"distributed.cli.{program}", "--no-dashboard"]
        with open(self.folder / f"{len(self.processes)}.log", "w") as log:
            process = subprocess.Popen(
                [*words, "--scheduler-file", str(self.file), *map(str, options)],
                cwd=self.folder,
                env={**os.environ, "PYTHONPATH": pythonpath, "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1"},
                stdout=log,
                stderr=log,
            )
        self.processes.append(process)
        return process
