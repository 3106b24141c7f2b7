"""The look-up order of raw files: $WAVY_DATA, the user's cache, then remote sources; each file is checked.

A raw file is named by its path relative to a data folder, e.g. ``planetoid/Cora/raw/ind.cora.x``. Content whose
sha256 differs from the one in ``checksums.txt`` is never used. Files are handed on as bytes, so that what was checked
is what is read.
"""

import functools
import hashlib
import importlib.resources
import logging
from collections.abc import Sequence

from wavy.data.cache import cache_folder, folder_from_env, one_at_a_time, store
from wavy.data.sources import DataUnavailable, Folder, Source

log = logging.getLogger("wavy.data")


def read_files(
    paths: Sequence[str], sources: Sequence[Source], instead: Sequence[str] = ()
) -> tuple[dict[str, bytes], str]:
    """Read raw files whose sha256 is known, from the first places that have them.

    The order is $WAVY_DATA (never written to), the cache, then ``sources``. What ``sources`` deliver is put into
    the cache. Wrong or failing places are logged under ``wavy.data`` and left aside.

    Args:
        paths: Relative paths that ``checksums.txt`` lists.
        sources: Remote sources, in the order to try them.
        instead: Other paths that serve as well, all of them together; taken when they are complete first.

    Returns:
        The contents of ``paths`` (or of ``instead``) by path, and where they came from: the label of a place, or
        several joined as in ``"cache + download"``.

    Raises:
        ValueError: $WAVY_DATA or $WAVY_CACHE is not an absolute path.
        DataUnavailable: Some file could not be had from anywhere.
    """
    data_root, cache_root = folder_from_env("WAVY_DATA"), cache_folder()
    cached = Folder("cache", cache_root)
    search = _Search(paths, instead, has_remote=bool(sources))
    if data_root is None:
        search.note(logging.DEBUG, "$WAVY_DATA: not set")
    else:
        search.ask(Folder("$WAVY_DATA", data_root))
    search.ask(cached)
    if not search.complete():
        with one_at_a_time(cache_root / ".lock"):
            search.ask(cached)  # another process may have filled it while this one waited
            for source in sources:
                for path in search.ask(source):
                    store(path, search.found[path][0], cache_root)
    return search.result()


class _Search:
    """What was found, where, and why places fell short."""

    def __init__(self, paths: Sequence[str], instead: Sequence[str], has_remote: bool) -> None:
        self.has_remote = has_remote
        self.alternatives = [group for group in (paths, instead) if group]
        self.expected = {path: checksums()[path] for group in self.alternatives for path in group}
        self.found: dict[str, tuple[bytes, str]] = {}  # path -> content, label of the source
        self.reasons: list[str] = []

    def complete(self) -> Sequence[str]:
        """Return the first group of paths that is found wholly, empty where there is none."""
        whole = (group for group in self.alternatives if all(path in self.found for path in group))
        return next(whole, ())

    def ask(self, source: Source) -> list[str]:
        """Take from a source what is still missing; return the paths it delivered."""
        if self.complete():
            return []
        delivered = []
        try:
            for path, content in source.fetch([path for path in self.expected if path not in self.found]):
                if hashlib.sha256(content).hexdigest() == self.expected[path]:
                    self.found[path] = content, source.label
                    delivered.append(path)
                else:
                    self.note(logging.WARNING, f"{source.label}: {path} has a wrong sha256 and is not used")
        except DataUnavailable as error:
            self.note(logging.INFO, f"{source.label}: {error}")
        if not any(reason.startswith(source.label) for reason in self.reasons) and not self.complete():
            self.note(logging.DEBUG, f"{source.label}: not there")
        return delivered

    def note(self, level: int, reason: str) -> None:
        """Log once why a place fell short, and keep it for the message of the error."""
        if reason not in self.reasons:
            self.reasons.append(reason)
            log.log(level, reason)

    def result(self) -> tuple[dict[str, bytes], str]:
        if group := self.complete():
            labels = dict.fromkeys(self.found[path][1] for path in group)
            return {path: self.found[path][0] for path in group}, " + ".join(labels)
        missing = [path for path in self.alternatives[0] if path not in self.found]
        advice = "Connect to the network and try again, or set" if self.has_remote else "Set"
        raise DataUnavailable(
            f"{missing[0]} ({len(missing)} of {len(self.alternatives[0])} files missing) could not be had: "
            f"{'; '.join(self.reasons)}. {advice} WAVY_DATA to the absolute path of a folder that holds it."
        )


@functools.cache
def checksums() -> dict[str, str]:
    """Return the known raw files: relative path -> sha256 in hexadecimal."""
    text = importlib.resources.files("wavy.data").joinpath("checksums.txt").read_text(encoding="utf-8")
    pairs = (line.split("  ", 1) for line in text.splitlines() if line and not line.startswith("#"))
    return {path: digest for digest, path in pairs}
