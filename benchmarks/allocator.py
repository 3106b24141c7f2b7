"""The C library's allocator for timed steps: freed memory stays with the process.

By default glibc hands large freed blocks back to the system, or not, as they happen to lie, and the next step pays for
each page anew. How often that happens depends on the order of all allocations in the process. It can add a fifth to
the time of one of two models that compute the very same.
"""

from __future__ import annotations

import os
import sys

#: glibc's names; other C libraries ignore them.
KEEPING = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**40)}

#: Each larger block is a mapping of its own and goes back to the system when it is freed.
RETURNING = {"MALLOC_MMAP_THRESHOLD_": str(2**16)}


def freed_memory() -> str:
    """What becomes of freed memory in this process: ``kept`` or ``default``."""
    return "kept" if KEEPING.items() <= os.environ.items() else "default"


def restart_keeping(arguments: list[str]) -> None:
    """Start ``python -m benchmarks`` anew with freed memory kept, unless it is: the choice is made at the start."""
    if freed_memory() != "kept":
        os.execve(sys.executable, [sys.executable, "-m", "benchmarks", *arguments], os.environ | KEEPING)


def default_environment() -> dict[str, str]:
    """The environment for a process with the default allocator."""
    return {name: value for name, value in os.environ.items() if name not in KEEPING}


def returning_environment() -> dict[str, str]:
    """The environment for a process whose peak is what was in use at once, without holes that wait for reuse."""
    return default_environment() | RETURNING
