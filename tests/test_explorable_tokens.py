"""The interactive figure of the tokens shows, for any setting, the states and measures that ``wavy`` computes."""

import math

import numpy as np
import pytest
import torch

from browser import NEEDS_BROWSER
from explorable_kit import open_book, same, widths
from wavy.companion.pages.explorable_data import tokens_data
from wavy.diagnostics import dirichlet_energy, mean_cosine
from wavy.dynamics import KINDS
from wavy.residual import Residual

pytestmark = NEEDS_BROWSER


@pytest.fixture(scope="module")
def book():
    with open_book() as opened:
        yield opened


#: tau, lambda and layer, edges included; the phone, which runs the same scripts, gets the first setting.
TOKEN_SETTINGS = [(0.35, 0.85, 23), (0.05, 0, 40), (1, 1, 40), (1, 0.25, 0)]


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


def short(value: float) -> str:
    """Three significant digits, zeros kept."""
    return f"{value:#.3g}".rstrip(".")


@widths
@pytest.mark.parametrize("kind", KINDS)
def test_tokens_show_the_states_and_measures_of_wavy(book, width, kind):
    figure = book.figure("tokens", width)
    for tau, lam, layer in TOKEN_SETTINGS if width > 400 else TOKEN_SETTINGS[:1]:
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
        assert figure.layout(1)["shapes"][0]["x0"] == layer
        trails = np.transpose([figure.drawn(0, 0)["x"], figure.drawn(0, 0)["y"]]).tolist()
        ends = [trails[place - 1] for place, point in enumerate(trails) if point == [None, None]]
        same(ends, shown["state"])
        assert f"layer {layer} under" in figure.readout
        if shown["energy"] >= 1e-3:
            assert f"relative energy {short(shown['energy'])}." in figure.readout
        assert f"mean cosine {shown['cosine']:.2f}".replace("-", "−") in figure.readout


def test_play_step_and_reset_move_the_layer(book):
    figure = book.figure("tokens")
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
    figure.press("Reset")
    figure.press("Play")
    figure.set(layer=40)  # dragged to the end while it plays
    figure.page.wait_for_function(
        "section => !section.explorable.values().playing", arg=figure.section.element_handle(), timeout=3000
    )
    figure.press("Step")
    assert figure.values()["layer"] == 40
    figure.press("Play")  # from the start again
    wait_for("<", 40)
    figure.press("Reset")
    assert (figure.values()["layer"], figure.values()["playing"]) == (0, False)
