"""The built book: it loads nothing from a network, its links lead somewhere, and it shows the code that runs.

These tests read what `jupyter-book build . --path-output _build/book` has written, and skip where it has not run.
"""

import ast
import re
import textwrap
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from toc import pages_in_toc

bs4 = pytest.importorskip("bs4")

ROOT = Path(__file__).parents[1]
HTML = ROOT / "_build" / "book" / "_build" / "html"
PAGES = sorted(page for page in HTML.rglob("*.html") if page.relative_to(HTML).parts[0] != "_static")

pytestmark = [
    pytest.mark.book,
    pytest.mark.skipif(not (HTML / "index.html").exists(), reason="the book is not built"),
]

#: The attributes by which an element loads something while the page opens.
LOADING = {
    "script": ("src",),
    "link": ("href",),
    "img": ("src", "srcset"),
    "iframe": ("src", "srcdoc"),
    "source": ("src", "srcset"),
    "video": ("src", "poster"),
    "audio": ("src",),
    "embed": ("src",),
    "object": ("data",),
    "image": ("href", "xlink:href"),
    "use": ("href", "xlink:href"),
}
REMOTE = re.compile(r"(^|[\s,\"'(])(https?:)?//", re.IGNORECASE)
INLINE_REMOTE = re.compile(r"https?://|[\"'`]//")
CSS_LOAD = re.compile(r"(@import\s+|url\(\s*)[\"']?(https?:)?//", re.IGNORECASE)
JS_LOAD = re.compile(
    r"(\bimport\s*\(?|\bfrom|importScripts\s*\(|fetch\s*\(|\.open\s*\([^)]{0,20},|\.(?:src|href)\s*=)\s*[\"'`](https?:)?//"
)


@cache
def parse(page: Path):
    return bs4.BeautifulSoup(page.read_text(encoding="utf8"), "html.parser")


def loads(soup) -> list[tuple[str, str]]:
    """All (element, address) pairs that a page fetches by itself."""
    return [
        (tag.name, tag[attribute])
        for name, attributes in LOADING.items()
        for tag in soup.find_all(name)
        for attribute in attributes
        if tag.get(attribute)
    ]


def local_target(page: Path, address: str) -> Path:
    path = unquote(urlsplit(address).path)
    return (page.parent / path).resolve() if path else page


def leads_somewhere(page: Path, address: str) -> bool:
    """Whether the file is there and, for a page, the element that the fragment names."""
    target, fragment = local_target(page, address), unquote(urlsplit(address).fragment)
    if not fragment or target.suffix != ".html":
        return target.exists()
    return target.exists() and parse(target).find(id=fragment) is not None


def page_of(name: str) -> Path:
    return HTML / f"{name}.html"


NOTEBOOKS = [name for name in pages_in_toc() if name.startswith("notebooks/")]


def test_the_pages_of_the_toc_are_there():
    assert [name for name in pages_in_toc() if not page_of(name).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(HTML).as_posix())
def test_page_loads_nothing_from_a_network(page):
    soup = parse(page)
    found = [(name, address) for name, address in loads(soup) if REMOTE.search(address)]
    found += [("style", tag.get_text()) for tag in soup.find_all("style") if CSS_LOAD.search(tag.get_text())]
    found += [("style=", tag["style"]) for tag in soup.find_all(style=True) if CSS_LOAD.search(tag["style"])]
    found += [("script", tag.get_text()) for tag in soup.find_all("script") if INLINE_REMOTE.search(tag.get_text())]
    assert found == []


def test_loaded_styles_and_scripts_load_nothing_from_a_network():
    files = {local_target(page, address) for page in PAGES for _, address in loads(parse(page))}
    styles = [path for path in files if path.suffix == ".css"]
    scripts = [path for path in files if path.suffix == ".js"]
    assert styles
    assert any(path.parent.name == "mathjax" for path in scripts), "MathJax is not served from the book"
    assert [path.name for path in styles if CSS_LOAD.search(path.read_text(encoding="utf8"))] == []
    # Plotly's script holds addresses of maps and links that no figure uses; the browser tests see that none is fetched.
    own = [path for path in scripts if path.name != "plotly.min.js"]
    assert [path.name for path in own if JS_LOAD.search(path.read_text(encoding="utf8"))] == []


def test_the_checks_above_find_what_they_look_for():
    page = bs4.BeautifulSoup('<img src="//a.org/x.png"><script src="https://a.org/x.js"></script>', "html.parser")
    assert all(REMOTE.search(address) for _, address in loads(page))
    assert CSS_LOAD.search("@import url(https://a.org/x.css)")
    assert JS_LOAD.search("x=await import('https://a.org/x.js')")
    assert JS_LOAD.search('s.src="https://a.org/x.js"')
    assert INLINE_REMOTE.search('const THEBE_JS_URL = "https://a.org/x.js"')
    assert not REMOTE.search("../_static/mathjax/tex-chtml.js")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(HTML).as_posix())
def test_every_local_address_exists(page):
    soup = parse(page)
    addresses = [address for _, address in loads(soup)] + [tag["href"] for tag in soup.find_all("a", href=True)]
    local = [address for address in addresses if not urlsplit(address).scheme and not urlsplit(address).netloc]
    assert [address for address in local if not leads_somewhere(page, address)] == []


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_launch_buttons_open_the_executed_notebook(name):
    links = [tag["href"] for tag in parse(page_of(name)).select(".dropdown-launch-buttons a")]
    assert len(links) >= 2
    assert [link for link in links if not link.endswith(f"/{name}.ipynb")] == []


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook_pages_show_outputs_and_no_failures(name):
    soup = parse(page_of(name))
    assert soup.select(".cell_output")
    assert soup.select(".output.traceback, .output.stderr") == []


@pytest.mark.parametrize("chapter", sorted((ROOT / "book").glob("*.md")), ids=lambda path: path.name)
def test_shown_code_is_the_code_of_the_package(chapter):
    includes = re.findall(r"\{literalinclude\} (\S+)\n:pyobject: (\S+)", chapter.read_text(encoding="utf8"))
    shown = {textwrap.dedent(tag.get_text()).strip() for tag in parse(page_of(f"book/{chapter.stem}")).select("pre")}
    for path, name in includes:
        assert source_of((chapter.parent / path).resolve(), name) in shown, f"{name}: rebuild the book"


def source_of(path: Path, name: str) -> str:
    """The lines of one object in a module, without its indentation."""
    text = path.read_text(encoding="utf8")
    node = ast.parse(text)
    for part in name.split("."):
        node = next(child for child in node.body if getattr(child, "name", None) == part)
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return textwrap.dedent("\n".join(text.splitlines()[first - 1 : node.end_lineno])).strip()
