"""Run a notebook by papermill so that it cannot hang, and say in one line why it stopped.

Out of the box papermill has no time limit, takes whatever kernel is called python3, and tells a failure by a long
traceback. Here the whole run has a time limit, the kernel is this interpreter's, it runs in the notebook's folder (as
nbval's does), and the ways to stop are one exception each.
"""

from __future__ import annotations

import logging
import math
import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

import papermill
from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from papermill.exceptions import PapermillExecutionError, strip_color

from wavy.companion import TIME_LIMIT
from wavy.companion.availability import unavailable
from wavy.companion.paths import CompanionError, write_atomically
from wavy.companion.source import KERNELSPEC, code_cells, write_notebook

LAST_LINES = 8  # of a traceback

Progress = Callable[[int, int, float], None]  # code cell k, of n, seconds


class RunError(CompanionError):
    """The run stopped: a cell failed, the kernel died, or the time was up."""


class DataMissingError(CompanionError):
    """The notebook said that its data set cannot be had here."""


def execute(
    source: NotebookNode,
    output: Path,
    folder: Path,
    *,
    parameters: dict[str, Any] | None = None,
    timeout: float = TIME_LIMIT,
    progress: Progress = lambda k, n, seconds: None,
) -> NotebookNode:
    """Run ``source`` and return the executed notebook; it also lies at ``output``, after a failure as far as it came.

    Until the run has ended it grows beside that place, so a run that is killed leaves nothing that looks like a result.

    Args:
        source: the notebook, as ``read_source`` gives it.
        output: the .ipynb file to write.
        folder: working folder of the kernel.
        parameters: values to inject after the cell tagged ``parameters``.
        timeout: time limit in seconds for the whole notebook; infinite for none.
        progress: called after each code cell with (k, n, seconds).

    Raises:
        RunError: see there; the message starts with the code cell.
        DataMissingError: a cell raised DataUnavailable.
        CompanionError: the kernel python3 belongs to another interpreter.
    """
    check_kernel()
    draft, growing = (output.with_name(f".{output.stem}.{part}.ipynb") for part in ("source", "growing"))
    growing.unlink(missing_ok=True)  # of a run that was killed
    write_atomically(draft, write_notebook(source))
    clock = Clock(len(code_cells(source)) + bool(parameters), timeout, progress)
    logging.getLogger("papermill").setLevel(logging.CRITICAL)  # what it would log is told by the exceptions
    try:
        return papermill.execute_notebook(
            *(str(path.resolve()).replace("{", "{{").replace("}", "}}") for path in (draft, growing)),
            parameters=parameters,
            cwd=folder.resolve(),
            progress_bar=False,
            coalesce_streams=True,
            record_timing=False,
            shutdown_kernel="immediate",
            extra_arguments=["--IPKernelApp.log_level=ERROR"],  # its start-up warnings say nothing about the run
            timeout_func=clock.left,
            on_cell_execute=clock.start,
            on_cell_executed=clock.stop,
        )
    except PapermillExecutionError as error:
        if reason := unavailable(clock.outputs):
            raise DataMissingError(reason) from None
        raise RunError(f"{clock.place} failed: {_last_lines(error)}") from None
    except DeadKernelError:
        raise RunError(f"{clock.place}: the kernel died while it ran (killed, or out of memory)") from None
    except CellTimeoutError:
        raise RunError(f"{clock.place}: the time limit of {timeout:g} s for the notebook is up (--timeout)") from None
    finally:
        draft.unlink(missing_ok=True)
        if growing.exists():
            growing.replace(output)


class Clock:
    """Where a run stands: which code cell, what it showed, and how much time is left."""

    def __init__(self, cells: int, timeout: float, progress: Progress) -> None:
        self.cells, self.progress = cells, progress
        self.number = 0
        self.outputs: list[NotebookNode] = []  # of the cell that ran last
        self.begun = monotonic()
        self.deadline = self.begun + timeout

    @property
    def place(self) -> str:
        return f"code cell {self.number} of {self.cells}"

    def left(self, cell: NotebookNode) -> float:
        left = max(self.deadline - monotonic(), 0.1)
        return left if math.isfinite(left) else 0  # which nbclient takes for no limit

    def start(self, cell: NotebookNode, cell_index: int) -> None:
        self.number += 1
        self.begun = monotonic()

    def stop(self, cell: NotebookNode, cell_index: int, execute_reply: dict) -> None:
        self.outputs = cell.outputs
        self.progress(self.number, self.cells, monotonic() - self.begun)


def check_kernel() -> None:
    """Make sure that the kernel python3 is run by this interpreter, so that it sees the same packages.

    Raises:
        CompanionError: there is no such kernel, or it starts another Python.
    """
    advice = f"run: {sys.executable} -m ipykernel install --sys-prefix"
    try:
        command = KernelSpecManager().get_kernel_spec(KERNELSPEC["name"]).argv[0]
    except NoSuchKernel:
        raise CompanionError(f"there is no Jupyter kernel python3 here; {advice}") from None
    # Jupyter replaces a bare "python" by the interpreter that starts the kernel.
    bare = command in ("python", "python3", f"python3.{sys.version_info.minor}")
    if not bare and Path(command).absolute() != Path(sys.executable).absolute():
        raise CompanionError(f"the Jupyter kernel python3 runs {command}, not this interpreter; {advice}")


def _last_lines(error: PapermillExecutionError) -> str:
    traceback = strip_color("\n".join(error.traceback)).rstrip().splitlines()
    summary = f"{error.ename}: {error.evalue}".split("\n", maxsplit=1)[0]
    return "\n    ".join([summary, *traceback[-LAST_LINES:]])
