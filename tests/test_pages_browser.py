"""Every page of the built book, opened in a browser on a desktop and on a phone: nothing fails and all is legible."""

from urllib.parse import urlsplit

import pytest

from browser import HTML as FOLDER
from browser import NEEDS_BROWSER, PAGES, SIZES, chromium, new_context, served

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
    // Where a page gives no description, docutils writes the address in its place.
    if (!image.alt.trim() || image.alt === image.getAttribute("src"))
      found.push("picture without alt text: " + image.getAttribute("src"));
    await image.decode().catch(() => found.push("picture that does not load: " + image.getAttribute("src")));
  }
  const width = document.documentElement.scrollWidth;
  if (width > innerWidth) found.push(`page scrolls sideways: ${width} > ${innerWidth}`);
  return found;
}
"""


def defects_of(context, address: str, name: str) -> list[str]:
    """Open one page of the site at the address, and tell what went wrong and what is wrong with it."""
    page, defects = context.new_page(), []

    def hear(message) -> None:
        if message.type == "error":
            defects.append(f"console: {message.text}")

    def see(request) -> None:
        if urlsplit(request.url).scheme not in ("data", "blob") and not request.url.startswith(address):
            defects.append(f"another host: {request.url}")

    def receive(response) -> None:
        if response.status >= 400:
            defects.append(f"status {response.status}: {response.url}")

    page.on("console", hear)
    page.on("pageerror", lambda error: defects.append(f"script: {error}"))
    page.on("request", see)
    page.on("requestfailed", lambda request: defects.append(f"failed: {request.url}"))
    page.on("response", receive)
    page.goto(address + name, wait_until="load")
    found = [*page.evaluate(DEFECTS), *defects]
    page.close()
    return found


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def address():
    with served(FOLDER) as found:
        yield found


@pytest.fixture(scope="module", params=SIZES, ids=lambda width: f"{width}px")
def context(request, browser):
    found = new_context(browser, request.param)
    yield found
    found.close()


@pytest.mark.parametrize("name", SHOWN)
def test_page_opens_without_defects(context, address, name):
    assert defects_of(context, address, name) == []


def test_the_check_finds_what_it_looks_for(browser, tmp_path):
    (tmp_path / "bad.html").write_text(
        r"""<article><p>\(x\)</p><span class="math">x</span><img src="none.png"><p style="width: 5000px">wide</p>
        <script>console.error("told")</script><script>throw new Error("thrown")</script>
        <script src="http://127.0.0.1:1/x.js"></script></article>"""
    )
    with served(tmp_path) as address:
        found = "\n".join(defects_of(new_context(browser, 400), address, "bad.html"))
    for defect in (
        *("raw TeX", "not rendered", "without alt", "does not load", "sideways", "console: told", "script: thrown"),
        *("another host", "failed", "status 404"),
    ):
        assert defect in found
