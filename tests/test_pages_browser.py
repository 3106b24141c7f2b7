"""Every page of the built book, opened in a browser on a desktop and on a phone: nothing fails and all is legible."""

from urllib.parse import urlsplit

import pytest

from browser import HTML as FOLDER
from browser import NEEDS_BROWSER, PAGES, SIZES, chromium, new_page, served

pytestmark = NEEDS_BROWSER

#: The start page only leads on to the introduction, which is opened as itself.
SHOWN = [name for name in PAGES if 'http-equiv="refresh"' not in (FOLDER / name).read_text(encoding="utf8").lower()]

#: What is wrong with the page as it stands, one line each.
DEFECTS = r"""
async () => {
  await window.MathJax?.startup?.promise;
  const found = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode;
    const raw = /\\[(\[]|\$\$|\\(frac|begin|mathrm|tau|mu|lambda)/.test(node.data);
    if (raw && !node.parentElement.closest("code, pre, script, style, noscript, mjx-container"))
      found.push("raw TeX: " + node.data.trim().slice(0, 60));
  }
  for (const math of document.querySelectorAll(".math"))
    if (!math.querySelector("mjx-container")) found.push("formula not rendered: " + math.textContent.slice(0, 60));
  for (const error of document.querySelectorAll("mjx-merror, [data-mjx-error]"))
    found.push("formula with an error: " + error.textContent.slice(0, 60));
  for (const image of document.querySelectorAll("article img")) {
    if (!image.alt.trim()) found.push("picture without alt text: " + image.getAttribute("src"));
    await image.decode().catch(() => found.push("picture that does not load: " + image.getAttribute("src")));
  }
  const width = document.documentElement.scrollWidth;
  if (width > innerWidth) found.push(`page scrolls sideways: ${width} > ${innerWidth}`);
  return found;
}
"""


class Visitor:
    """A page that is led from address to address and notes what goes wrong on the way."""

    def __init__(self, browser, width: int, address: str) -> None:
        self.page, self.address, self.defects = new_page(browser, width), address, []
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.defects.append(f"script: {error}"))
        self.page.on("request", self._see)
        self.page.on("requestfailed", lambda request: self.defects.append(f"failed: {request.url}"))
        self.page.on("response", self._receive)

    def visit(self, name: str) -> list[str]:
        self.defects = []
        self.page.goto(self.address + name, wait_until="load")
        found = self.page.evaluate(DEFECTS)
        return self.defects + found

    def _hear(self, message) -> None:
        if message.type == "error":
            self.defects.append(f"console: {message.text}")

    def _see(self, request) -> None:
        if urlsplit(request.url).scheme not in ("data", "blob") and not request.url.startswith(self.address):
            self.defects.append(f"another host: {request.url}")

    def _receive(self, response) -> None:
        if response.status >= 400:
            self.defects.append(f"status {response.status}: {response.url}")


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture(scope="module", params=SIZES, ids=lambda width: f"{width}px")
def visitor(request, browser):
    with served(FOLDER) as address:
        yield Visitor(browser, request.param, address)


@pytest.mark.parametrize("name", SHOWN)
def test_page_opens_without_defects(visitor, name):
    assert visitor.visit(name) == []


def test_the_visitor_finds_what_it_looks_for(browser, tmp_path):
    (tmp_path / "bad.html").write_text(
        r"""<article><p>\(x\)</p><span class="math">x</span><img src="none.png"><p style="width: 5000px">wide</p>
        <script>console.error("told")</script><script>throw new Error("thrown")</script>
        <script src="http://127.0.0.1:1/x.js"></script></article>"""
    )
    with served(tmp_path) as address:
        found = "\n".join(Visitor(browser, 400, address).visit("bad.html"))
    for defect in (
        *("raw TeX", "not rendered", "without alt", "does not load", "sideways", "console: told", "script: thrown"),
        *("another host", "failed", "status 404"),
    ):
        assert defect in found
