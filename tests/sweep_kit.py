"""Runs for tests of sweeps that take no time, fail or die as they are told, and ways to look at them from outside."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar, Literal

import torch
from pydantic import BaseModel, ConfigDict
from threadpoolctl import threadpool_info

from wavy import rowfile
from wavy.experiments.fields import Study

TESTS = Path(__file__).parent


class FakeRun(BaseModel):
    """A run of a model that has neither depth nor tau."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    experiment: ClassVar[str] = "fake"
    model_name: ClassVar[str] = "Fake"

    dataset: str = "none"
    residual: str | None = None
    depth: int | None = None
    tau: float | None = None
    seed: int = 0
    seconds: float = 0.0
    act: Literal["work", "fail", "die"] = "work"
    folder: str = ""


class FakeStudy(Study):
    """Like the studies of ``wavy.experiments``: count runs of so many seconds."""

    scales: ClassVar = {"quick": {}}

    scale: Literal["quick"] = "quick"
    device: Literal["cpu", "cuda"] = "cpu"
    count: int = 4
    seconds: float = 0.0
    failing: int = -1
    folder: str = ""

    def runs(self) -> list[FakeRun]:
        acts = {self.failing: "fail"}
        return [
            FakeRun(seed=seed, seconds=self.seconds, folder=self.folder, act=acts.get(seed, "work"))
            for seed in range(self.count)
        ]


def fake(run: FakeRun, device: str) -> dict[str, float]:
    """Leave a trace of the start, ``SEED-PROCESS``, and do what the run says."""
    if run.folder:
        (Path(run.folder) / f"{run.seed}-{os.getpid()}").touch()
    if run.act == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if run.act == "fail":
        raise ValueError("no\nluck")
    time.sleep(run.seconds)
    libraries = [library["num_threads"] for library in threadpool_info()]
    return {"process": os.getpid(), "threads": torch.get_num_threads(), "library_threads": max(libraries, default=1)}


def main() -> None:
    """The command ``wavy`` with the experiment ``fake``."""
    from wavy.cli import app  # noqa: PLC0415 (processes that do runs need it not)
    from wavy.experiments import EXPERIMENTS  # noqa: PLC0415

    EXPERIMENTS["fake"] = FakeStudy
    # In place of the real runners, which take seconds to import.
    sys.modules["wavy.training.runners"] = SimpleNamespace(RUNNERS={"fake": fake})
    app()


@contextmanager
def command(*arguments: object) -> Iterator[subprocess.Popen]:
    """``wavy`` with the experiment ``fake``, in a process group of its own that ends with the block."""
    # A shell starts background jobs with SIGINT ignored, and their children would inherit it.
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    process = subprocess.Popen(
        [sys.executable, "-c", f"{heard}; import sweep_kit; sweep_kit.main()", *map(str, arguments)],
        cwd=TESTS,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent)]), "COLUMNS": "200"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def until(condition: Callable[[], object], seconds: float = 90.0) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def started(folder: Path) -> list[tuple[int, int]]:
    """Seed and process of every start of a run, in the order of the starts."""
    traces = sorted(folder.glob("*-*"), key=lambda path: path.stat().st_mtime_ns)
    return [tuple(map(int, path.name.split("-"))) for path in traces]


def seeds(path: Path) -> list[int]:
    """The seeds of a file of rows, in the order in which they were written."""
    return [row["seed"] for row in rowfile.read(path)]


def alive(process: int) -> bool:
    """Whether a process runs (a zombie does not)."""
    return _stat(Path(f"/proc/{process}"))[0] not in "Z-"


def children(process: int) -> list[int]:
    """The processes that a process has started and that have not ended."""
    return [int(path.name) for path in Path("/proc").glob("[0-9]*") if _stat(path)[1] == str(process)]


def _stat(path: Path) -> list[str]:
    """State and parent of a process."""
    try:
        return (path / "stat").read_text().rsplit(")", 1)[1].split()[:2]
    except (FileNotFoundError, ProcessLookupError):
        return ["-", "-"]
