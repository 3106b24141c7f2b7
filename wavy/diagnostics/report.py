"""Layer profiles for people to read: as a table and as a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Measure -> its label in the figure.
LABELS = {
    "cosine": "mean cosine",
    "effective_rank": "effective rank",
    "dirichlet_energy": "Dirichlet energy",
    "node_variance": "node variance",
}

#: Measures whose values may run over powers of ten.
ENERGIES = ("dirichlet_energy", "node_variance")

#: Colour and marker of each model in turn; the colours are Okabe and Ito's, told apart by the colour-blind.
STYLES = (("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^"), ("#CC79A7", "D"))


def profile_table(profile: pd.DataFrame) -> str:
    """A layer profile as text: one line a layer, numbers with four significant digits.

    Args:
        profile: from :func:`wavy.diagnostics.layer_profile`.
    """
    return profile.to_string(index=False, float_format="{:#.4g}".format)


def plot_profiles(profiles: dict[str, pd.DataFrame]) -> Figure:
    """Draw layer profiles: one panel a measure, layers to the right, one line a model.

    The axes hold 0, and 1 for the cosine, so that a small change looks small. Where an energy changes by a factor of
    ten or more, its axis is logarithmic: over-smoothing at a steady rate is a straight line there.

    Args:
        profiles: name of a model -> its profile from :func:`wavy.diagnostics.layer_profile`; four at most.

    Returns:
        The figure; ``figure.savefig(path)`` writes it.

    Raises:
        ValueError: no profile, or more than four.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 (of the extra ``book``)

    if not 1 <= len(profiles) <= len(STYLES):
        raise ValueError(f"profiles: found {len(profiles)}, allowed 1 to {len(STYLES)}")
    # Without pyplot nothing global changes, and no window is needed.
    figure = Figure(figsize=(8, 5.4), dpi=150, layout="constrained")
    panels = figure.subplots(2, 2, sharex=True)
    for panel, measure in zip(panels.flat, LABELS, strict=True):
        _draw(panel, profiles, measure)
    for panel in panels[-1]:
        panel.set_xlabel("layer", fontsize=13)
        panel.xaxis.get_major_locator().set_params(integer=True)
    handles = panels.flat[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper left", frameon=False, fontsize=12)
    return figure


def _draw(panel: Axes, profiles: dict[str, pd.DataFrame], measure: str) -> None:
    for (name, profile), (colour, marker) in zip(profiles.items(), STYLES, strict=False):
        spacing = max(1, len(profile) // 16)  # a marker on every layer of a deep model would hide the line
        style = {"color": colour, "marker": marker, "markevery": spacing, "markersize": 5, "linewidth": 2}
        panel.plot(profile["layer"], profile[measure], label=name, **style)
    values = pd.concat(profile[measure] for profile in profiles.values())
    if measure in ENERGIES and 0 < 10 * values.min() <= values.max():
        panel.set_yscale("log")
    else:
        top = 1.05 if measure == "cosine" else 1.1 * values.max() or 1
        panel.set_ylim(min(0, 1.1 * values.min()), top)
    panel.set_ylabel(LABELS[measure], fontsize=13)
    panel.tick_params(labelsize=11)
    panel.grid(color="#dddddd")
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
