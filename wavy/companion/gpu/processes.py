"""Commands side by side, each with a log of its own and all with one end."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path


def run_side_by_side(commands: Mapping[str, list[str]], folder: Path, seconds: float) -> dict[str, str]:
    """Run commands at once, each with a log of its own, and kill those that outlast the time.

    Returns:
        What became of each: "done", "failed (status)", or "stopped".
    """
    end = time.monotonic() + seconds
    running = {}
    for name, command in commands.items():
        with (folder / f"{name}.log").open("wb") as log:
            running[name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )
    ends = {}
    for name, process in running.items():
        try:
            status = process.wait(max(0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # its workers too
            process.wait()
            ends[name] = "stopped"
        else:
            ends[name] = "done" if status == 0 else f"failed ({status})"
    return ends
