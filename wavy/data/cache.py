"""The user's cache folder: where it is, and how several processes fill it without hurting each other."""

import contextlib
import logging
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import platformdirs
from filelock import FileLock, Timeout

log = logging.getLogger("wavy.data")

LOCK_SECONDS = 600.0  # longest wait for another process that fills the cache


def cache_folder() -> Path:
    """Return $WAVY_CACHE where it is set, else wavy's folder in the user's cache folder."""
    return folder_from_env("WAVY_CACHE") or Path(platformdirs.user_cache_dir("wavy"))


def folder_from_env(variable: str) -> Path | None:
    """Return the folder that an environment variable names, None where it is unset or empty.

    Raises:
        ValueError: The path is relative. Notebook tools start kernels in different folders, so a relative path
            would mean a different place in each.
    """
    value = os.environ.get(variable, "")
    if value and not os.path.isabs(value):
        raise ValueError(f"the environment variable {variable} must be an absolute path, found {value!r}")
    return Path(value) if value else None


@contextlib.contextmanager
def one_at_a_time(lock_file: Path, seconds: float = LOCK_SECONDS) -> Iterator[None]:
    """Let one process at a time fill a part of the cache; the rest wait and then find it filled.

    Args:
        lock_file: names the part.
        seconds: how long they wait, at most; negative for as long as it takes.
    """
    lock = FileLock(lock_file, timeout=seconds)
    try:
        lock_file.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except (OSError, NotImplementedError, Timeout) as error:  # a lock only saves double work: storing is atomic
        log.warning("cache: no lock (%s)", type(error).__name__)
    try:
        yield
    finally:
        lock.release()


def store(path: str, content: bytes, root: Path) -> None:
    """Put a file into the cache so that other processes see it whole or not at all."""
    target = root / path
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".partial-") as folder:
            part = Path(folder) / target.name
            part.write_bytes(content)
            verb = "replaced" if target.exists() else "stored"
            os.replace(part, target)
        log.info("cache: %s %s", verb, path)
    except OSError as error:  # the content itself is at hand: a cache that cannot be written costs only time
        log.warning("cache: %s could not be stored (%s)", path, error.strerror)
