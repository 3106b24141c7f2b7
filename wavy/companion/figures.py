"""House style of the book's figures, and the table that goes with each of them.

A figure is drawn from a tidy table, one row an observation. The cell that draws it also shows :func:`summary` of what
it drew: validation compares text, never pixels, so the table is what makes a changed figure fail.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from wavy.dynamics import KINDS

#: What each residual kind is called in figures and prose.
LABELS = {
    "diffusion": "diffusion",
    "full": "full wave",
    "light": "light wave",
    "mix_full": "mix (+full)",
    "mix_light": "mix (+light)",
}

#: One colour a kind, from the colour-blind-safe palette of Okabe and Ito; markers and dashes tell them apart in grey.
PALETTE = {
    "diffusion": "#000000",
    "full": "#0072B2",
    "light": "#D55E00",
    "mix_full": "#56B4E9",
    "mix_light": "#E69F00",
}
MARKERS = {"diffusion": "o", "full": "s", "light": "^", "mix_full": "D", "mix_light": "v"}
DASHES = {"diffusion": "", "full": "", "light": "", "mix_full": (3, 1.5), "mix_light": (3, 1.5)}


def use_house_style() -> None:
    """Set the style of every later figure, and show tables whole, with four significant digits.

    A figure is 6.4 inches wide or less, so that its text stays readable when a phone shrinks it to 400 pixels.
    """
    sns.set_theme(
        style="whitegrid",
        rc={
            "figure.figsize": (6.4, 4.2),
            "figure.dpi": 150,
            "figure.constrained_layout.use": True,
            "figure.constrained_layout.h_pad": 0.1,  # keeps a panel's title off the ticks of the panel above
            "font.size": 14,
            "axes.titlesize": 15,
            "axes.labelsize": 14,
            "xtick.labelsize": 13,
            "ytick.labelsize": 13,
            "legend.fontsize": 12.5,
            "legend.title_fontsize": 12.5,
            "lines.linewidth": 2.2,
            "lines.markersize": 6,
            "grid.color": "#dddddd",
            "axes.edgecolor": "#888888",
        },
    )
    pd.set_option("display.float_format", "{:.4g}".format)
    pd.set_option("display.max_colwidth", None)  # whole sentences, never "..."


def lines(
    frame: pd.DataFrame,
    x: str,
    y: str,
    hue: str = "residual",
    spread: str | tuple[str, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw y against x, one line a residual kind, always in the same colours, markers, dashes and order.

    Args:
        frame: tidy table with the columns ``x``, ``y`` and ``hue``.
        x: column of the horizontal axis, which has ticks at whole numbers where they are integers.
        y: column of the vertical axis; rows that share ``x`` and ``hue`` are averaged.
        hue: column of residual kinds, each one of :data:`wavy.dynamics.KINDS`.
        spread: bars around that mean, as seaborn's ``errorbar``: ``"sd"``, ``("pi", 100)`` from least to greatest, or
            ``None`` for no bars.
        ax: axes to draw on; ``None`` opens a new figure.

    Returns:
        The axes.

    Raises:
        ValueError: a column is missing, or ``hue`` holds an unknown kind.
    """
    kinds = _kinds_of(frame, x, y, hue)
    ax = plt.subplots()[1] if ax is None else ax
    sns.lineplot(
        frame.assign(**{hue: frame[hue].map(LABELS)}),
        x=x,
        y=y,
        hue=hue,
        style=hue,
        hue_order=[LABELS[kind] for kind in kinds],
        style_order=[LABELS[kind] for kind in kinds],
        palette={LABELS[kind]: PALETTE[kind] for kind in kinds},
        markers={LABELS[kind]: MARKERS[kind] for kind in kinds},
        dashes={LABELS[kind]: DASHES[kind] for kind in kinds},
        errorbar=spread,
        err_style="bars",  # a band would vanish beside a point that has only one value
        err_kws={"capsize": 3, "elinewidth": 1.5},
        markevery=max(1, frame[x].nunique() // 10),  # a marker on every point of a long line would hide it
        ax=ax,
    )
    if pd.api.types.is_integer_dtype(frame[x]):
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))  # there is no half of a layer
    ax.legend(title=None)
    return ax


def legend_above(ax: Axes, columns: int = 3) -> None:
    """Put the legend above the axes, where it hides no point and no bar."""
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=columns, frameon=False)


def summary(frame: pd.DataFrame, y: str | list[str], by: str | list[str] = "residual") -> pd.DataFrame:
    """The data of a figure in short: count, mean, least, quartiles and greatest of ``y`` in each group.

    Args:
        frame: the tidy table that was drawn.
        y: the column or columns drawn.
        by: the column or columns that tell the groups apart; residual kinds keep the book's order.

    Returns:
        One row a column of ``y`` and group: columns ``quantity``, those of ``by``, ``count``, ``mean``, ``min``,
        ``25%``, ``50%``, ``75%``, ``max``.

    Raises:
        ValueError: a column is missing.
    """
    columns, groups = _as_list(y), _as_list(by)
    _check_columns(frame, columns + groups)
    long = frame.melt(id_vars=groups, value_vars=columns, var_name="quantity")
    long["quantity"] = pd.Categorical(long["quantity"], columns)
    for group in groups:
        if set(long[group]) <= set(KINDS):
            long[group] = pd.Categorical(long[group], KINDS)
    table = long.groupby(["quantity", *groups], observed=True)["value"].describe().reset_index()
    return table.astype({"count": int})[["quantity", *groups, "count", "mean", "min", "25%", "50%", "75%", "max"]]


def _kinds_of(frame: pd.DataFrame, x: str, y: str, hue: str) -> list[str]:
    """The kinds in ``frame``, in the book's order."""
    _check_columns(frame, [x, y, hue])
    found = set(frame[hue])
    if unknown := sorted(map(str, found - set(KINDS))):
        raise ValueError(f"{hue}: found {', '.join(unknown)}, allowed {', '.join(KINDS)}")
    return [kind for kind in KINDS if kind in found]


def _check_columns(frame: pd.DataFrame, columns: list[str]) -> None:
    if missing := [column for column in columns if column not in frame.columns]:
        raise ValueError(f"frame: found no column {', '.join(missing)}, allowed {', '.join(map(str, frame.columns))}")


def _as_list(names: str | list[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)
