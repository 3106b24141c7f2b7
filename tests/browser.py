"""A real browser for tests of the built book: Debian's Chromium, driven by Playwright, on a local server."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HTML = ROOT / "_build" / "book" / "_build" / "html"
PAGES = sorted(page.relative_to(HTML).as_posix() for page in HTML.rglob("*.html") if "_static" not in page.parts)

#: A desktop and a phone: width and height of the window.
SIZES = {1280: 800, 400: 800}

CHROMIUM = shutil.which("chromium")
OPTIONS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)

#: For ``pytestmark``: the tests run after the build, and say why where they cannot.
NEEDS_BROWSER = [
    pytest.mark.book,
    pytest.mark.skipif(not PAGES, reason="the book is not built"),
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
    pytest.mark.skipif(find_spec("playwright") is None, reason="playwright is not installed"),
]


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Leave the test report to pytest."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder on a free port of this machine; yields the address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def chromium() -> Iterator:
    """A running browser (playwright.sync_api.Browser)."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - it may not be installed

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        try:
            yield browser
        finally:
            browser.close()


def new_context(browser, width: int = 1280, **options):
    """A window of one of SIZES, with a cache of its own; options as for Browser.new_context."""
    return browser.new_context(viewport={"width": width, "height": SIZES[width]}, **options)
