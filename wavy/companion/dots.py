"""Dot plots: many settings below one another, one dot a group in each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from wavy.companion.figures import LABELS, MARKERS, PALETTE

#: Height in inches that a row needs to stay readable, and that of axis and legend.
ROW_HEIGHT, REST = 0.36, 1.1
#: How far apart the dots of a row stand, as a share of its height.
DODGE = 0.22
#: Markers of depths, from the shallowest on.
DEPTH_MARKERS = "osD^vP*"


class DotStyle(NamedTuple):
    """How the dots of a group look."""

    label: str
    colour: str | tuple[float, float, float]
    marker: str


#: The groups of a residual kind, as everywhere in the book.
KIND_STYLES = {kind: DotStyle(LABELS[kind], PALETTE[kind], MARKERS[kind]) for kind in LABELS}


def height_for(rows: int) -> float:
    """Height in inches of a figure of so many rows."""
    return ROW_HEIGHT * rows + REST


def depth_styles(depths: list[int]) -> dict[int, DotStyle]:
    """A style for each depth, darker where it is deeper.

    Raises:
        ValueError: more depths than there are markers to tell them apart.
    """
    if len(depths) > len(DEPTH_MARKERS):
        raise ValueError(f"depths: found {len(depths)}, allowed {len(DEPTH_MARKERS)}")
    colours = sns.color_palette("YlGnBu", len(depths) + 2)[2:]
    return {
        depth: DotStyle(f"{depth} layers", colour, marker)
        for depth, colour, marker in zip(sorted(depths), colours, DEPTH_MARKERS, strict=False)
    }


def dots(
    frame: pd.DataFrame,
    value: str,
    row: str,
    group: str,
    styles: Mapping[object, DotStyle],
    ax: Axes,
    filled: str | None = None,
) -> None:
    """Draw the mean of each row and group as a dot, and a line from its least to its greatest value.

    The figure gets one legend, of the groups in all of its axes.

    Args:
        frame: tidy table with the columns named below.
        value: column of the horizontal axis.
        row: column whose values stand below one another, in the order of their first appearance.
        group: column whose values are told apart by ``styles``, drawn in the order of those.
        styles: value of ``group`` -> style; others are left out.
        ax: axes to draw on.
        filled: column of truth values; a dot is hollow where it is false for more than half of the values. ``None``
            fills all.

    Raises:
        KeyError: a column is missing.
    """
    rows = list(dict.fromkeys(frame[row]))
    present = [name for name in styles if name in set(frame[group])]
    for place, name in enumerate(present):
        style, shift = styles[name], DODGE * (place - (len(present) - 1) / 2)
        for key, own in frame[frame[group] == name].groupby(row, sort=False):
            height, values = rows.index(key) + shift, own[value]
            face = style.colour if filled is None or own[filled].mean() >= 0.5 else "white"
            ax.plot([values.min(), values.max()], [height, height], color=style.colour, lw=1.6, zorder=2)
            dot = {"marker": style.marker, "color": style.colour, "mfc": face, "ls": "", "ms": 7, "mew": 1.6}
            ax.plot(values.mean(), height, **dot, zorder=3)
        ax.plot([], [], style.marker, color=style.colour, ms=7, label=style.label)
    for stripe in range(0, len(rows), 2):
        ax.axhspan(stripe - 0.5, stripe + 0.5, color="#f3f3f3", zorder=0)
    ax.set_yticks(range(len(rows)), rows)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.grid(axis="y", visible=False)
    _one_legend(ax.figure)


def _one_legend(figure: Figure) -> None:
    drawn = [handle for ax in figure.axes for handle in ax.get_legend_handles_labels()[0]]
    handles = {handle.get_label(): handle for handle in drawn}
    for earlier in list(figure.legends):
        earlier.remove()
    figure.legend(handles=list(handles.values()), loc="outside upper center", ncols=3, frameon=False)
