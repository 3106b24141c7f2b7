"""Folders that a run writes to: whether it can, and that no other run does."""

from __future__ import annotations

import contextlib
import logging
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

log = logging.getLogger("wavy.training")

#: Longest wait for a folder: the workers of a run that was killed hold its lock for as long as they do not notice.
LOCK_SECONDS = 10.0


def check_writable(name: str, folder: Path) -> None:
    """Make a folder where there is none, and raise ValueError where it cannot be written.

    Args:
        name: of the argument, for the message.
        folder: with all folders above it.
    """
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"0")
    except OSError as error:
        found = error.strerror or type(error).__name__
        raise ValueError(f"{name}: found {folder} ({found}), allowed a folder that can be written") from None


@contextmanager
def alone_in(folder: Path | None, main: bool) -> Iterator[None]:
    """Keep other runs away from a folder of checkpoints.

    Args:
        folder: made where there is none; ``None`` for a run without checkpoints.
        main: whether this is the main process of the run, which alone holds the lock.

    Raises:
        ValueError: the folder cannot be written, or another run is there.
    """
    if folder:
        check_writable("folder", folder)
    if not folder or not main:
        yield
        return
    lock = FileLock(Path(folder) / ".lock", timeout=LOCK_SECONDS)
    try:
        lock.acquire()
    except Timeout:
        raise ValueError(
            f"folder: found another run that writes to {folder}, allowed one at a time, or another folder"
        ) from None
    except (OSError, NotImplementedError) as error:  # not every network's file system has locks
        log.warning("folder: no lock on %s (%s)", folder, type(error).__name__)
    try:
        yield
    finally:
        # The folder is left with checkpoints alone; it goes while it is held, so that nobody else's is removed.
        if lock.is_locked:
            with contextlib.suppress(OSError):
                Path(lock.lock_file).unlink()
        lock.release()
