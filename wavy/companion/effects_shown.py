"""A table and a figure of published effects beside our own, from :func:`wavy.companion.effects.judge_effects`."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes

from wavy.companion.claims import NO_NUMBER
from wavy.companion.effects import CONTROL
from wavy.companion.verdicts import LEAST_SEEDS

#: The colours of a published effect, of ours, and of a control.
PAPER, OURS, CHANCE = "#888888", "#0072B2", "#444444"


def effects_view(table: pd.DataFrame) -> pd.DataFrame:
    """The table for readers: paper, ours with its interval, unit, seeds, corrected p, verdict.

    Index is the label. Our effect has no interval where there is one seed, and is a dash where there is none. Where
    runs have diverged, a further column says in how many seeds.
    """
    shown = {
        "paper": table["paper"].map("{:+.2f}".format).replace("+nan", NO_NUMBER),
        "ours": [_ours(row) for _, row in table.iterrows()],
        "unit": table["unit"],
        "seeds": table["seeds"],
        **({"diverged": table["diverged"]} if table["diverged"].any() else {}),
        "corrected p": table["p"].map("{:.2g}".format).replace("nan", "–"),
        "verdict": table["verdict"],
    }
    return pd.DataFrame(shown).set_index(table["label"])


def _ours(row: pd.Series) -> str:
    if not row["seeds"]:
        return "–"
    interval = f" [{row['low']:+.2f}, {row['high']:+.2f}]" if row["seeds"] > 1 else ""
    return f"{row['effect']:+.2f}{interval}"


def draw_effects(table: pd.DataFrame, ax: Axes) -> None:
    """Draw each published effect as a diamond, and below it ours as a dot with its interval.

    Args:
        table: effects of one unit. Where nothing was run there is no dot; a dot of fewer seeds than a verdict needs is
            hollow, one of a single seed has no interval, and that of a control is dark grey. A table of measurements
            that have no seeds goes without that column.
        ax: axes to draw on.
    """
    ax.axvline(0, color="#444444", linewidth=1)
    for place, (_, row) in enumerate(table.iterrows()):
        ax.plot(row["paper"], place - 0.14, marker="D", color=PAPER, ms=7, ls="")
        if seeds := row.get("seeds", LEAST_SEEDS):
            color = CHANCE if row["verdict"] == CONTROL else OURS
            ax.plot([row["low"], row["high"]], [place + 0.14] * 2, color=color, lw=1.8)
            face = color if seeds >= LEAST_SEEDS else "white"
            ax.plot(row["effect"], place + 0.14, marker="o", color=color, mfc=face, mew=1.6, ms=7, ls="")
    ax.plot([], [], marker="D", color=PAPER, ls="", label="paper")
    ax.plot([], [], marker="o", color=OURS, ls="", label="ours")
    ax.set_yticks(range(len(table)), [f"{row['label']}\n{row['verdict']}" for _, row in table.iterrows()])
    ax.set_ylim(len(table) - 0.5, -0.5)
    ax.grid(axis="y", visible=False)
