"""All interactive figures: where they are, keyboard, small windows, static pictures, colours of both themes."""

import json
import re

import pytest

from browser import HTML, NEEDS_BROWSER, new_context
from explorable_kit import FOUND, Figure, open_book, widths
from wavy.companion.pages.explorable import EXPLORABLES
from wavy.dynamics import KINDS

pytestmark = NEEDS_BROWSER


@pytest.fixture(scope="module")
def book():
    with open_book() as opened:
        yield opened


def test_the_book_holds_every_interactive_figure():
    assert set(FOUND) == set(EXPLORABLES)


@pytest.mark.parametrize("name", EXPLORABLES)
def test_the_page_holds_the_data_that_wavy_computes(book, name):
    held = book.figure(name).section.locator("script").text_content()
    assert json.loads(held) == EXPLORABLES[name].data()


#: The elements whose content is wider than they are, by more than a fraction of a pixel.
TOO_WIDE = """
section => [...section.querySelectorAll("div, p, label, button, table, svg")]
  .filter((element) => element.clientWidth && element.scrollWidth > element.clientWidth + 1)
  .map((element) => element.outerHTML.slice(0, 80))
"""


@widths
@pytest.mark.parametrize(
    ("name", "label", "key", "step"),
    [("tokens", "layer", "layer", 1), ("roots", "step τ", "tau", 0.05), ("velocity", "Y along x̂", "along", 0.05)],
)
def test_the_keyboard_moves_sliders(book, width, name, label, key, step):
    figure = book.figure(name, width)
    slider = figure.slider(label)
    slider.focus()
    least, greatest = (float(slider.get_attribute(end)) for end in ("min", "max"))
    for keys, expected in [
        (["Home"], least),
        (["ArrowRight"] * 3, least + 3 * step),
        (["ArrowLeft"], least + 2 * step),
        (["End"], greatest),
        (["ArrowRight"], greatest),
    ]:
        for pressed in keys:
            figure.page.keyboard.press(pressed)
        assert figure.values()[key] == pytest.approx(expected)


@pytest.mark.parametrize("name", ["tokens", "roots"])
def test_the_keyboard_chooses_the_kind(book, name):
    figure = book.figure(name)
    figure.section.locator("input[value=diffusion]").check()
    figure.section.locator("input[value=diffusion]").focus()
    for kind in KINDS[1:]:
        figure.page.keyboard.press("ArrowRight")
        assert figure.values()["kind"] == kind


@pytest.mark.parametrize("name", EXPLORABLES)
def test_every_control_has_a_name(book, name):
    controls = book.figure(name).section.locator("input, button")
    named = "control => (control.labels?.[0] ?? control).textContent.trim()"
    assert controls.count() >= 3
    assert [control for control in controls.all() if not control.evaluate(named)] == []


@widths
@pytest.mark.parametrize("name", EXPLORABLES)
def test_nothing_sticks_out_of_the_window(book, width, name):
    figure = book.figure(name, width)
    box = figure.section.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    assert figure.section.evaluate(TOO_WIDE) == []


@pytest.mark.parametrize("name", EXPLORABLES)
def test_the_static_picture_gives_way_to_the_figure(book, name):
    figure = book.figure(name)
    assert not figure.section.locator("img").first.is_visible()
    assert figure.section.locator(".explorable-plot svg").first.is_visible()


@pytest.mark.parametrize("name", EXPLORABLES)
def test_without_scripts_the_static_picture_stands_alone(book, name):
    page = new_context(book.browser, java_script_enabled=False).new_page()
    page.goto(book.address + FOUND[name])
    section = page.locator(f'[data-explorable="{name}"]')
    assert section.locator("img").first.is_visible()
    assert section.locator("img").first.bounding_box()["height"] > 100
    assert section.locator("input, button, .explorable-figure").count() == 0
    page.context.close()


def test_the_figures_work_in_pages_opened_from_the_folder(book):
    page, name = new_context(book.browser).new_page(), "tokens"
    page.goto((HTML / FOUND[name]).as_uri())
    assert Figure(page, name).values()
    page.context.close()


# Colours.

#: Text of a section with its colour and that of the ground it stands on, as "rgb(...)".
TEXTS = """
section => {
  const ground = (element) => {
    const colour = getComputedStyle(element).backgroundColor;
    return /, 0\\)$/.test(colour) && element.parentElement ? ground(element.parentElement) : colour;
  };
  const has = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  const shown = [...section.querySelectorAll(".explorable-figure *")].filter((element) => has(element)
    && element.getClientRects().length && !element.closest("[aria-hidden], :has(> :disabled)"));
  return shown.map((element) => {
    const style = getComputedStyle(element);
    return [element.textContent, element instanceof SVGElement ? style.fill : style.color, ground(element)];
  });
}
"""


def luminance(colour: str) -> float:
    """Relative luminance of the W3C's contrast rules."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(colour: str, ground: str) -> float:
    dark, light = sorted((luminance(colour), luminance(ground)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("name", EXPLORABLES)
def test_text_is_legible_in_both_themes_and_follows_a_change(book, name):
    figure = book.figure(name)
    seen = {}
    for theme in ("dark", "light"):
        figure.page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
        texts = figure.section.evaluate(TEXTS)
        assert len(texts) > 15
        assert [text for text, colour, ground in texts if contrast(colour, ground) < 4.5] == []
        seen[theme] = {colour for _, colour, _ in texts}
    assert seen["dark"].isdisjoint(seen["light"])
