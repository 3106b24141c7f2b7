"""What the interactive figures are given at build time: start values, attention, and how each residual kind is drawn.

Plain lists and numbers, ready for JSON. What a script computes from them is compared with ``wavy`` in a browser.
"""

from __future__ import annotations

import math

import numpy as np
import seaborn as sns
import torch
from sklearn.datasets import load_digits

from wavy.companion.figures import DASHES, LABELS, MARKERS, PALETTE
from wavy.dynamics import KINDS, MIXED_KINDS

#: matplotlib's markers, as Plotly calls them.
SYMBOLS = {"o": "circle", "s": "square", "^": "triangle-up", "D": "diamond", "v": "triangle-down"}


def kinds_data() -> list[dict]:
    """How each residual kind is called and drawn, in the book's order."""
    return [
        {
            "name": kind,
            "label": LABELS[kind],
            "colour": PALETTE[kind],
            "symbol": SYMBOLS[MARKERS[kind]],
            "dash": "dash" if DASHES[kind] else "solid",
            "mixed": kind in MIXED_KINDS,
        }
        for kind in KINDS
    ]


def tokens_data(num_tokens: int = 16, sharpness: float = 1.0) -> dict:
    """Images of digits as tokens of two channels, and the attention between them.

    The channels are the two leading principal components of the first images of scikit-learn's digits, divided by one
    common scale; the sign of a component makes its largest loading positive. Queries and keys are the tokens:
    ``A = softmax(sharpness X X^T / sqrt(d))``.

    Args:
        num_tokens: images N.
        sharpness: factor of the scores; at 0 every token reads from all alike.

    Returns:
        ``x0`` (N, 2), ``attention`` (N, N), ``digits`` (N,), ``layers``, the greatest depth shown, and ``kinds``.
    """
    digits = load_digits()
    pixels = digits.data[:num_tokens] - digits.data[:num_tokens].mean(axis=0)
    components = np.linalg.svd(pixels, full_matrices=False)[2][:2]
    largest = np.abs(components).argmax(axis=1)
    components = components * np.sign(components[[0, 1], largest])[:, None]
    x0 = pixels @ components.T
    # Three digits: the same numbers on every machine.
    x0 = torch.from_numpy(np.round(x0 / x0.std(), 3))
    attention = torch.softmax(sharpness * x0 @ x0.T / math.sqrt(2), dim=-1)
    return {
        "x0": x0.tolist(),
        "attention": attention.tolist(),
        "digits": digits.target[:num_tokens].tolist(),
        "layers": 40,
        "kinds": kinds_data(),
    }


def roots_data() -> dict:
    """The greatest depth shown, and the kinds."""
    return {"layers": 40, "kinds": kinds_data()}


def velocity_data(dim: int = 6, hidden_dim: int = 8, seed: int = 0) -> dict:
    """A small layer: a state, a velocity, and the parameters of LayerNorm and mlp, of three digits each.

    The velocity is then freed of its part along the mean and along the normalised state: on what is left, LN_v is the
    exact derivative. The script adds the two parts back.

    Args:
        dim: channels d.
        hidden_dim: channels between the layers of the mlp.
        seed: of the random numbers.

    Returns:
        ``x``, ``velocity``, ``gamma``, ``beta`` (d,), ``eps``, ``w1`` (d, hidden), ``b1``, ``w2`` (hidden, d), ``b2``,
        and the ``colours`` of the bars.
    """
    rng = np.random.default_rng(seed)

    def drawn(*shape: int, scale: float = 1.0) -> np.ndarray:
        return np.round(scale * rng.standard_normal(shape), 3)

    x, velocity, eps = drawn(dim), drawn(dim), 1e-5
    x_hat = (x - x.mean()) / math.sqrt(x.var() + eps)
    velocity = velocity - velocity.mean()
    velocity = velocity - x_hat * (x_hat @ velocity) / (x_hat @ x_hat)
    arrays = {
        "x": x,
        "velocity": velocity,
        "gamma": 1 + drawn(dim, scale=0.2),
        "beta": drawn(dim, scale=0.2),
        "w1": drawn(dim, hidden_dim, scale=dim**-0.5),
        "b1": drawn(hidden_dim, scale=0.2),
        "w2": drawn(hidden_dim, dim, scale=hidden_dim**-0.5),
        "b2": drawn(dim, scale=0.2),
    }
    colours = sns.color_palette("colorblind", 2).as_hex()
    return {**{name: value.tolist() for name, value in arrays.items()}, "eps": eps, "colours": list(colours)}
