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

    None outlasts this function either, however it ends: by Ctrl-C, or because a command cannot be started.

    Returns:
        What became of each: "done", "failed (status)", or "stopped".
    """
    end = time.monotonic() + seconds
    running: dict[str, subprocess.Popen] = {}
    try:
        for name, command in commands.items():
            running[name] = _start(command, folder / f"{name}.log")
        return {name: _end(process, end) for name, process in running.items()}
    finally:
        for process in running.values():
            _kill(process)


def _start(command: list[str], path: Path) -> subprocess.Popen:
    with path.open("wb") as log:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )


def _end(process: subprocess.Popen, end: float) -> str:
    try:
        status = process.wait(max(0, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        _kill(process)
        return "stopped"
    return "done" if status == 0 else f"failed ({status})"


def _kill(process: subprocess.Popen) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)  # its workers too
        process.wait()
