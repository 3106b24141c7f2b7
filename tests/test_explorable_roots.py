"""The interactive figure of the roots shows, for any setting, the factors and the amplitude that ``wavy`` computes."""

import numpy as np
import pytest
import torch

from browser import NEEDS_BROWSER
from explorable_kit import open_book, same, widths
from wavy.dynamics import KINDS, MIXED_KINDS, diffusion_step, light_step, mix, mode_factors, wave_step

pytestmark = NEEDS_BROWSER


@pytest.fixture(scope="module")
def book():
    with open_book() as opened:
        yield opened


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
    *((1.3, -0.4, 0.5, 0.5), (-1, 0, 0.05, 0), (4, 0, 1, 1), (0, 0, 0.5, 1), (4, 0, 2, 0.5)),
    *((1, 0, 0.25, 0.25), (0.5, 1, 0.75, 0.9)),
]


@widths
@pytest.mark.parametrize("kind", KINDS)
def test_roots_show_the_factors_and_the_amplitude_of_wavy(book, width, kind):
    figure = book.figure("roots", width)
    figure.set(kind)
    for real, imaginary, tau, lam in MODES if width > 400 else MODES[:1]:
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
        same(figure.drawn(1, 0)["y"], abs(expected[0].item()) ** np.arange(len(followed)))
        if imaginary == 0:
            is_open = [symbol.endswith("-open") for symbol in figure.drawn(1, 1)["marker"]["symbol"]]
            assert is_open == [z.real < 0 for z in followed]
        marked = [(note["x"], note["y"]) for note in figure.layout(0).get("annotations", [])]
        assert marked == ([(-1, 0)] if kind == "full" and imaginary == 0 else [])


def test_the_faint_path_is_that_of_the_roots(book):
    figure = book.figure("roots")
    figure.set("full", imaginary=0, tau=1)
    path = figure.drawn(0, 1)
    sizes = np.hypot(path["x"], path["y"])
    ends = mode_factors(-1.0, 1.0, "full").real
    assert np.abs(np.array(path["x"]) - ends[0].item()).min() < 1e-9  # Re mu = -1
    assert np.abs(np.array(path["x"]) + 1).min() < 1e-6  # Re mu = 4, the CFL bound
    assert (np.abs(sizes - 1) < 1e-9).mean() > 0.5  # between them, on the unit circle


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
        ("light", {"real": 1, "tau": 0.25, "lam": 0.25}, ("1.00 = 1.00", "one double root", "fades: |z| = 0.500")),
        ("light", {"real": 4, "tau": 2, "lam": 1}, (" > 4.00", "changes its sign in every layer", "the mode grows")),
        ("mix_full", {"real": 1, "tau": 0.5, "lam": 0.5}, ("2.64 < 3.00", "swings", "fades: |z| = 0.866")),
        ("mix_full", {"real": 0.05, "tau": 0.05, "lam": 1}, ("4.00, by a little < 4.00", "swings")),
        ("mix_light", {"real": 1, "tau": 0.5, "lam": 0.5}, ("1.27 < 2.00", "swings", "fades: |z| = 0.707")),
    ],
)
def test_roots_tell_the_side_of_the_bound(book, kind, setting, told):
    figure = book.figure("roots")
    figure.set(kind, imaginary=0, **setting)
    assert [words for words in told if words.lower() not in figure.readout.lower()] == []
