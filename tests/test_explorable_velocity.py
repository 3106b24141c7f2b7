"""The interactive figure of the velocity shows the layers of ``wavy``, beside true derivatives."""

import numpy as np
import pytest
import torch

from browser import NEEDS_BROWSER
from explorable_kit import open_book, same, widths
from wavy.companion.pages.explorable_data import velocity_data
from wavy.layers import JointLayerNorm, JointMLP

pytestmark = NEEDS_BROWSER


@pytest.fixture(scope="module")
def book():
    with open_book() as opened:
        yield opened


#: Y along xhat, mean of Y, and the exponent of the step h.
LAYER_SETTINGS = [(1, 0.5, -2), (0, 0, -4), (2, -2, 0), (-2, 0, -4), (0, 2, -1.5)]


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
def test_velocity_shows_the_layers_of_wavy_and_true_derivatives(book, width):
    figure = book.figure("velocity", width)
    data = velocity_data()
    paper, exact, mlp = layer_of(data)
    x, base = (torch.tensor(data[name], dtype=torch.float64) for name in ("x", "velocity"))
    x_hat = (x - x.mean()) / torch.sqrt(x.var(correction=0) + data["eps"])
    for along, mean, exponent in LAYER_SETTINGS if width > 400 else LAYER_SETTINGS[:1]:
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
        same(figure.drawn(0, 2)["y"], shown["norm"]["quotient"])
        same(figure.drawn(1, 1)["y"], shown["mlp"]["quotient"])
        told = figure.section.locator(".explorable-table tr").nth(2).inner_text().replace("−", "-").split()
        assert told == ["Y", *(f"{value:.2f}" for value in y)]


def relative(a, b) -> float:
    return np.linalg.norm(np.subtract(a, b)) / np.linalg.norm(b)


def test_the_readout_tells_the_errors_of_the_quotients(book):
    figure = book.figure("velocity")
    shown = figure.set(along=1, mean=0.5, exponent=-1)
    for layer, reference in (("norm", "exact"), ("mlp", "paper")):
        error = 100 * relative(shown[layer]["quotient"], shown[layer][reference])
        assert f"{error:.3g}" in figure.readout
    figure.set(exponent=-3)
    assert "10⁻³" in figure.section.locator(".explorable-sliders").inner_text()


def test_the_error_of_ln_v_grows_from_nothing_with_each_part(book):
    figure = book.figure("velocity")
    figure.set(along=0, mean=0)
    assert "LNᵥ does not differ from the exact derivative" in figure.readout
    for part in ("along", "mean"):
        errors = [figure.set(**{"along": 0, "mean": 0, part: size})["error"] for size in (0, 0.05, 0.5, 1, 2)]
        assert errors[0] < 1e-12
        assert np.all(np.diff(errors) > 1e-3)
        assert f"LNᵥ differs by {100 * errors[-1]:.3g} % from" in figure.readout
