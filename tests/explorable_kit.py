"""The interactive figures in an open page: move their controls, and read what they show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from browser import HTML, PAGES, SIZES, chromium, new_context, served

#: The page that holds each interactive figure.
FOUND = {
    name: page
    for page in PAGES
    for name in re.findall(r'data-explorable="(\w+)"', (HTML / page).read_text(encoding="utf8"))
}

#: How the sliders are labelled.
LABELS = {
    **{"tau": "step τ", "lam": "mixing λ", "layer": "layer", "real": "Re μ", "imaginary": "Im μ"},
    **{"along": "Y along x̂", "mean": "mean of Y", "exponent": "step h"},
}

widths = pytest.mark.parametrize("width", SIZES, ids=lambda width: f"{width}px")


def same(found, expected, atol: float = 1e-12) -> None:
    np.testing.assert_allclose(np.asarray(found, float), np.asarray(expected, float), rtol=1e-9, atol=atol)


class Figure:
    """One interactive figure in an open page."""

    def __init__(self, page, name: str) -> None:
        self.page, self.section = page, page.locator(f'[data-explorable="{name}"]')

    def slider(self, label: str):
        return self.section.get_by_label(label, exact=True)

    def set(self, kind: str | None = None, **values: float) -> dict:
        """Choose a kind and move sliders, then return what the figure shows; names as in LABELS."""
        if kind is not None:
            self.section.locator(f"input[value={kind}]").check()
        for name, value in values.items():
            self.slider(LABELS[name]).fill(f"{value:g}")
        return self.values()

    def press(self, button: str) -> None:
        self.section.get_by_role("button", name=button).click()

    def values(self) -> dict:
        return self.section.evaluate("section => section.explorable.values()")

    def drawn(self, plot: int, trace: int) -> dict:
        """The data of one trace, as Plotly has them."""
        script = "(section, [plot, trace]) => section.querySelectorAll('.explorable-plot')[plot].data[trace]"
        return self.section.evaluate(script, [plot, trace])

    def layout(self, plot: int) -> dict:
        """What Plotly has been told about a plot beside its traces."""
        return self.section.evaluate(
            "(section, plot) => section.querySelectorAll('.explorable-plot')[plot].layout", plot
        )

    @property
    def readout(self) -> str:
        return self.section.locator(".explorable-readout").inner_text().replace("\u00a0", " ")


class OpenBook:
    """The built book in a browser; ``figure(name, width)`` opens one page a name and width."""

    def __init__(self, browser, address: str) -> None:
        self.browser, self.address, self.pages = browser, address, {}
        self.contexts = {width: new_context(browser, width) for width in SIZES}

    def figure(self, name: str, width: int = 1280) -> Figure:
        if (name, width) not in self.pages:
            self.pages[name, width] = self.contexts[width].new_page()
            self.pages[name, width].goto(self.address + FOUND[name], wait_until="load")
        return Figure(self.pages[name, width], name)


@contextmanager
def open_book() -> Iterator[OpenBook]:
    """Serve the book, start a browser, and end both."""
    with chromium() as browser, served(HTML) as address:
        yield OpenBook(browser, address)
