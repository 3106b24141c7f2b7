"""The interactive figures in a browser: what they show for a setting is what ``wavy`` computes for it."""

import json
import math
import re

import numpy as np
import pytest
import torch

from browser import HTML, NEEDS_BROWSER, PAGES, SIZES, chromium, new_page, served
from wavy.companion.pages.explorable import EXPLORABLES
from wavy.companion.pages.explorable_data import tokens_data, velocity_data
from wavy.diagnostics import dirichlet_energy, mean_cosine
from wavy.dynamics import KINDS, MIXED_KINDS, diffusion_step, light_step, mix, mode_factors, wave_step
from wavy.layers import JointLayerNorm, JointMLP
from wavy.residual import Residual

pytestmark = NEEDS_BROWSER

#: The page that holds each interactive figure.
FOUND = {
    name: page
    for page in PAGES
    for name in re.findall(r'data-explorable="(\w+)"', (HTML / page).read_text(encoding="utf8"))
}


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

    @property
    def readout(self) -> str:
        return self.section.locator(".explorable-readout").inner_text().replace("\u00a0", " ")


LABELS = {
    **{"tau": "step τ", "lam": "mixing λ", "layer": "layer", "real": "Re μ", "imaginary": "Im μ"},
    **{"along": "Y along x̂", "mean": "mean of Y", "exponent": "step h"},
}


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def address():
    with served(HTML) as found:
        yield found


@pytest.fixture(scope="module")
def opened(browser, address):
    """``opened(name, width)`` is the figure in an open page, one page a name and width."""
    pages = {}

    def figure(name: str, width: int = 1280) -> Figure:
        if (name, width) not in pages:
            pages[name, width] = new_page(browser, width)
            pages[name, width].goto(address + FOUND[name], wait_until="load")
        return Figure(pages[name, width], name)

    return figure


widths = pytest.mark.parametrize("width", SIZES, ids=lambda width: f"{width}px")


def test_the_book_holds_every_interactive_figure():
    assert set(FOUND) == set(EXPLORABLES)


@pytest.mark.parametrize("name", EXPLORABLES)
def test_the_page_holds_the_data_that_wavy_computes(opened, name):
    held = opened(name).section.locator("script").text_content()
    assert json.loads(held) == EXPLORABLES[name].data()


# The tokens.


def token_states(kind: str, tau: float, lam: float) -> list[torch.Tensor]:
    """X^0 ... X^L by the module that the models use."""
    data = tokens_data()
    theta = math.copysign(40.0, lam - 0.5) if lam in (0, 1) else math.log(lam / (1 - lam))
    residual = Residual(2, kind, tau=tau, theta_init=theta).double()
    residual.reset_parameters()  # theta in double precision
    attention = torch.tensor(data["attention"], dtype=torch.float64)
    x, memory = torch.tensor(data["x0"], dtype=torch.float64), None
    found = [x]
    for _ in range(data["layers"]):
        with torch.no_grad():
            x, memory = residual(x, attention @ x, memory)
        found.append(x)
    return found


@widths
@pytest.mark.parametrize("kind", KINDS)
def test_tokens_show_the_states_and_measures_of_wavy(opened, width, kind):
    figure = opened("tokens", width)
    for tau, lam, layer in [(0.5, 0.5, 8), (0.05, 0, 40), (1, 1, 40), (1, 0.25, 0), (0.35, 0.85, 23)]:
        shown = figure.set(kind, tau=tau, lam=lam, layer=layer)
        states = token_states(kind, tau, lam)
        energies = [dirichlet_energy(x).item() for x in states]
        assert (shown["kind"], shown["tau"], shown["lam"], shown["layer"]) == (kind, tau, lam, layer)
        same(shown["state"], states[layer])
        same(shown["cosine"], mean_cosine(states[layer]))
        same(shown["energies"][kind], np.array(energies) / energies[0])
        same(shown["energy"], energies[layer] / energies[0])
        same(np.transpose([figure.drawn(0, 1)["x"], figure.drawn(0, 1)["y"]]), shown["state"])
        same(figure.drawn(1, KINDS.index(kind))["y"], shown["energies"][kind])
        assert f"layer {layer} under" in figure.readout
        assert f"mean cosine {shown['cosine']:.2f}".replace("-", "−") in figure.readout


def test_play_step_and_reset_move_the_layer(opened):
    figure = opened("tokens")
    layer_is = "([section, layer]) => section.explorable.values().layer {} layer"

    def wait_for(relation: str, layer: int) -> None:
        figure.page.wait_for_function(layer_is.format(relation), arg=[figure.section.element_handle(), layer])

    figure.press("Reset")
    assert (figure.values()["layer"], figure.values()["playing"]) == (0, False)
    figure.press("Step")
    figure.press("Step")
    assert figure.values()["layer"] == 2
    figure.press("Play")
    wait_for(">=", 4)
    figure.press("Pause")
    assert not figure.values()["playing"]
    figure.set(layer=39)
    figure.press("Play")
    wait_for("==", 40)
    assert not figure.values()["playing"]
    figure.press("Step")
    assert figure.values()["layer"] == 40
    figure.press("Play")  # from the start again
    wait_for("<", 40)
    figure.press("Reset")
    assert (figure.values()["layer"], figure.values()["playing"]) == (0, False)


# The roots.


def mode(kind: str, mu: complex, tau: float, lam: float, layers: int = 40) -> list[complex]:
    """A mode that starts at one, its memory at rest, by the functions of wavy.dynamics."""
    x, velocity = torch.ones(1, 1, dtype=torch.complex128), torch.zeros(1, 1, dtype=torch.complex128)
    previous, found = x, [x.item()]
    for _ in range(layers):
        ax = (1 - mu) * x
        diffused = diffusion_step(x, ax, tau)
        wave, velocity = wave_step(x, velocity, ax, tau)
        following = {
            "diffusion": diffused,
            "full": wave,
            "light": light_step(x, previous, ax, tau, lam),
            "mix_full": mix(wave, diffused, lam),
            "mix_light": mix(light_step(x, previous, ax, tau**2, 1), diffused, lam),
        }[kind]
        x, previous = following, x
        found.append(x.item())
    return found


#: (Re mu, Im mu, tau, lambda): the edges of the sliders, the CFL bound, critical damping, complex modes.
MODES = [
    *((1, 0, 0.5, 0.5), (-1, 0, 0.05, 0), (4, 0, 1, 1), (1, 0, 2, 0.35), (0, 0, 0.5, 1), (4, 0, 2, 0.5)),
    *((1, 0, 0.25, 0.25), (0.5, 1, 0.75, 0.9), (1.3, -0.4, 0.5, 0.5)),
]


@widths
@pytest.mark.parametrize("kind", KINDS)
def test_roots_show_the_factors_and_the_amplitude_of_wavy(opened, width, kind):
    figure = opened("roots", width)
    for real, imaginary, tau, lam in MODES:
        figure.set(kind)
        mixed = {"lam": lam} if kind in MIXED_KINDS else {}
        assert figure.slider("mixing λ").is_enabled() == bool(mixed)
        shown = figure.set(real=real, imaginary=imaginary, tau=tau, **mixed)
        expected = mode_factors(complex(real, imaginary), tau, kind, mixed.get("lam"))
        same(shown["roots"], torch.view_as_real(expected))
        followed = mode(kind, complex(real, imaginary), tau, lam)
        same(shown["mode"], [(z.real, z.imag) for z in followed], atol=1e-11 * max(1, *map(abs, followed)))
        same(np.transpose([figure.drawn(0, 2)["x"], figure.drawn(0, 2)["y"]]), shown["roots"])
        drawn = [(value, abs(z)) for value, z in zip(figure.drawn(1, 1)["y"], followed, strict=True) if value]
        same(*np.transpose(drawn), atol=1e-11 * max(1, *map(abs, followed)))


@pytest.mark.parametrize(
    ("kind", "setting", "told"),
    [
        ("full", {"real": 1, "tau": 0.5}, ("below the CFL bound 4", "neither grows nor fades")),
        ("full", {"real": 4, "tau": 1}, ("at the CFL bound 4", "linear growth is possible")),
        ("full", {"real": 4, "tau": 1.05}, ("beyond the CFL bound 4", "the mode grows")),
        ("full", {"real": -0.05, "tau": 0.5}, ("μ is negative", "the mode grows")),
        ("diffusion", {"real": 1.5, "tau": 1}, ("below the bound 2", "the mode fades")),
        ("diffusion", {"real": 2, "tau": 1.5}, ("beyond the bound 2", "the mode grows")),
        ("light", {"real": 1, "tau": 0.5, "lam": 0.5}, ("1.00 < 2.00", "swings", "fades: |z| = 0.707")),
        ("light", {"real": 0.1, "tau": 0.5, "lam": 0.5}, (" > 2.00", "does not swing", "fades: |z| = 0.885")),
        ("light", {"real": 1, "tau": 0.25, "lam": 0.25}, ("1.00 = 1.00", "fades: |z| = 0.500")),
    ],
)
def test_roots_tell_the_side_of_the_bound(opened, kind, setting, told):
    figure = opened("roots")
    figure.set(kind, imaginary=0, **setting)
    assert [words for words in told if words.lower() not in figure.readout.lower()] == []


# The velocity.


def layer_of(data: dict) -> tuple[JointLayerNorm, JointLayerNorm, JointMLP]:
    """LayerNorm with LN_v, with the exact derivative, and the mlp, with the parameters that the page shows."""
    arrays = {name: torch.tensor(value, dtype=torch.float64) for name, value in data.items() if name != "colours"}
    dim, hidden = arrays["w1"].shape
    norms = [JointLayerNorm(dim, eps=data["eps"], exact=exact).double() for exact in (False, True)]
    mlp = JointMLP(dim, hidden).double()
    for norm in norms:
        norm.load_state_dict({"weight": arrays["gamma"], "bias": arrays["beta"]})
    weights = {"fc1.weight": arrays["w1"].T, "fc1.bias": arrays["b1"]}
    mlp.load_state_dict({**weights, "fc2.weight": arrays["w2"].T, "fc2.bias": arrays["b2"]})
    return (*norms, mlp)


@widths
@torch.no_grad()
def test_velocity_shows_the_layers_of_wavy_and_true_derivatives(opened, width):
    figure = opened("velocity", width)
    data = velocity_data()
    paper, exact, mlp = layer_of(data)
    x, base = (torch.tensor(data[name], dtype=torch.float64) for name in ("x", "velocity"))
    x_hat = (x - x.mean()) / torch.sqrt(x.var(correction=0) + data["eps"])
    for along, mean, exponent in [(1, 0.5, -2), (0, 0, -4), (2, -2, 0), (-2, 0, -4), (0, 2, -1.5)]:
        shown = figure.set(along=along, mean=mean, exponent=exponent)
        y, h = base + mean + along * x_hat, 10**exponent
        true_norm = torch.func.jvp(lambda v: paper(v)[0], (x,), (y,))[1]
        true_mlp = torch.func.jvp(lambda v: mlp(v)[0], (x,), (y,))[1]
        rounding = 1e-14 / h
        same(shown["y"], y)
        same(shown["norm"]["paper"], paper(x, y)[1])
        same(shown["norm"]["exact"], exact(x, y)[1])
        same(shown["norm"]["exact"], true_norm)
        same(shown["norm"]["quotient"], (paper(x + h * y)[0] - paper(x)[0]) / h, rounding)
        same(shown["mlp"]["paper"], mlp(x, y)[1])
        same(shown["mlp"]["paper"], true_mlp)
        same(shown["mlp"]["quotient"], (mlp(x + h * y)[0] - mlp(x)[0]) / h, rounding)
        same(shown["error"], torch.dist(paper(x, y)[1], true_norm) / true_norm.norm())
        same(figure.drawn(0, 0)["y"], shown["norm"]["paper"])
        same(figure.drawn(0, 1)["y"], shown["norm"]["exact"])
        same(figure.drawn(1, 0)["y"], shown["mlp"]["paper"])


def test_the_error_of_ln_v_grows_from_nothing_with_each_part(opened):
    figure = opened("velocity")
    figure.set(along=0, mean=0)
    assert "LNᵥ does not differ from the exact derivative" in figure.readout
    for part in ("along", "mean"):
        errors = [figure.set(**{"along": 0, "mean": 0, part: size})["error"] for size in (0, 0.05, 0.5, 1, 2)]
        assert errors[0] < 1e-12
        assert np.all(np.diff(errors) > 1e-3)
        assert f"LNᵥ differs by {100 * errors[-1]:.3g} % from" in figure.readout


# All of them.

#: The elements whose content is wider than they are.
TOO_WIDE = """
section => [...section.querySelectorAll("div, p, label, button, table, svg")]
  .filter((element) => element.clientWidth && element.scrollWidth > element.clientWidth)
  .map((element) => element.outerHTML.slice(0, 80))
"""


@widths
@pytest.mark.parametrize(
    ("name", "label", "key", "step"),
    [("tokens", "layer", "layer", 1), ("roots", "step τ", "tau", 0.05), ("velocity", "Y along x̂", "along", 0.05)],
)
def test_the_keyboard_moves_sliders(opened, width, name, label, key, step):
    figure = opened(name, width)
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
def test_the_keyboard_chooses_the_kind(opened, name):
    figure = opened(name)
    figure.section.locator("input[value=diffusion]").check()
    figure.section.locator("input[value=diffusion]").focus()
    for kind in KINDS[1:]:
        figure.page.keyboard.press("ArrowRight")
        assert figure.values()["kind"] == kind


@pytest.mark.parametrize("name", EXPLORABLES)
def test_every_control_has_a_name(opened, name):
    controls = opened(name).section.locator("input, button")
    named = "control => (control.labels?.[0] ?? control).textContent.trim()"
    assert controls.count() >= 3
    assert [control for control in controls.all() if not control.evaluate(named)] == []


@widths
@pytest.mark.parametrize("name", EXPLORABLES)
def test_nothing_sticks_out_of_the_window(opened, width, name):
    figure = opened(name, width)
    box = figure.section.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    assert figure.section.evaluate(TOO_WIDE) == []


@pytest.mark.parametrize("name", EXPLORABLES)
def test_the_static_picture_gives_way_to_the_figure(opened, name):
    figure = opened(name)
    assert not figure.section.locator("img").first.is_visible()
    assert figure.section.locator(".explorable-plot svg").first.is_visible()


@pytest.mark.parametrize("name", EXPLORABLES)
def test_without_scripts_the_static_picture_stands_alone(browser, address, name):
    page = new_page(browser, java_script_enabled=False)
    page.goto(address + FOUND[name])
    section = page.locator(f'[data-explorable="{name}"]')
    assert section.locator("img").first.is_visible()
    assert section.locator("img").first.bounding_box()["height"] > 100
    assert section.locator("input, button, .explorable-figure").count() == 0
    page.context.close()


def test_the_figures_work_in_pages_opened_from_the_folder(browser):
    page = new_page(browser)
    for name in EXPLORABLES:
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
def test_text_is_legible_in_both_themes_and_follows_a_change(opened, name):
    figure = opened(name)
    seen = {}
    for theme in ("dark", "light"):
        figure.page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
        figure.page.wait_for_timeout(300)  # the theme fades its colours
        texts = figure.section.evaluate(TEXTS)
        assert len(texts) > 15
        assert [text for text, colour, ground in texts if contrast(colour, ground) < 4.5] == []
        seen[theme] = {colour for _, colour, _ in texts}
    assert seen["dark"].isdisjoint(seen["light"])
