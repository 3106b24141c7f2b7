"""Resident memory of this process, now and at its peak since the last :func:`reset_peak` (Linux)."""

from __future__ import annotations

import gc
from pathlib import Path

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def resident() -> int:
    """Bytes that are resident now."""
    return _read("VmRSS")


def reset_peak() -> None:
    """Forget the peak so far and free all garbage.

    The earlier peak is higher than what stays, and garbage that goes later makes room: each hides a small measurement.
    """
    gc.collect()
    CLEAR.write_text("5")


def peak() -> int:
    """Bytes that were resident at the peak."""
    return _read("VmHWM")


def _read(name: str) -> int:
    (line,) = (line for line in STATUS.read_text().splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024
