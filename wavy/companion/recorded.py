"""Recorded rows as a notebook shows them: those of a plan, and their means over seeds with the spread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from pydantic import BaseModel

from wavy import results
from wavy.companion.figures import LABELS
from wavy.companion.paths import Layout
from wavy.dynamics import KINDS

#: From here on a number is written in full, with commas.
LARGE = 10_000


def recorded(runs: Sequence[BaseModel], plan: str = "the plan") -> pd.DataFrame:
    """The recorded rows of planned runs of one experiment, as a table; says how many there are.

    Args:
        runs: at least one.
        plan: what to call them.

    Raises:
        ValueError: no runs are given.
    """
    if not runs:
        raise ValueError("runs: found none, allowed one or more")
    rows = results.select(Layout.find().root / "results" / f"{runs[0].experiment}.jsonl", runs)
    print(f"{len(rows)} of the {len(runs)} runs of {plan} are recorded")
    return rows


def by_rate(runs: Sequence[BaseModel], measure: str, plan: str = "the search") -> pd.DataFrame:
    """A measure at each learning rate, one column a residual kind in the book's order, NaN where no run is recorded.

    Args:
        runs: of one experiment, with fields ``lr`` and ``residual`` that tell them apart.
        measure: a column of their rows.
        plan: what to call them.
    """
    found = recorded(runs, plan).set_index("params_hash").reindex(columns=[measure])[measure]
    keys = pd.MultiIndex.from_tuples([(run.lr, run.residual) for run in runs], names=["learning rate", "residual"])
    table = pd.Series([found.get(results.run_hash(run)) for run in runs], keys, dtype=float).unstack()
    return table.reindex(columns=[kind for kind in KINDS if kind in table])


def mean_and_spread(values: pd.Series, decimals: int | None = None) -> str:
    """Mean ± standard deviation, where values differ, and in brackets the number of seeds; a dash where nothing is.

    Args:
        values: one a seed; missing ones do not count.
        decimals: of mean and deviation; ``None`` gives them four and three significant digits, or from :data:`LARGE`
            on none after the point.
    """
    values = values.dropna()
    if values.empty:
        return "–"
    mean, deviation = (".4g", ".3g") if decimals is None else (f".{decimals}f",) * 2
    if decimals is None and abs(values.mean()) >= LARGE:
        mean = deviation = ",.0f"
    spread = f" ± {values.std(ddof=1):{deviation}}" if values.nunique() > 1 else ""
    return f"{values.mean():{mean}}{spread} ({len(values)})"


def spreads(
    rows: pd.DataFrame, names: Mapping[str, str], by: Sequence[str] = ("residual",), decimals: int | None = None
) -> pd.DataFrame:
    """A table of measures, each cell from :func:`mean_and_spread`; of no rows, one line that says so.

    Where runs have diverged, a last column "diverged" says how many of each row.

    Args:
        rows: one row a run.
        names: column of ``rows`` -> what the table calls it.
        by: columns that tell the table's rows apart; residual kinds stand in the book's order and under its names,
            all else in the order of ``rows``.
        decimals: as in :func:`mean_and_spread`.
    """
    if rows.empty:
        return pd.DataFrame("–", index=["no run"], columns=list(names.values()))
    rows = rows.assign(**{name: _in_order(rows[name]) for name in by})
    table = rows.groupby(list(by), observed=True)[list(names)].agg(mean_and_spread, decimals=decimals)
    table = table.rename(index=LABELS, columns=names)
    if "diverged" in rows and rows["diverged"].any():
        counts = rows.groupby(list(by), observed=True)["diverged"].sum().astype(int)
        table["diverged"] = counts.to_numpy()  # in the same order, under other names
    return table


def minutes_a_run(rows: pd.DataFrame) -> str:
    """How long the shortest and the longest run took, in one line; a dash where there is none.

    Args:
        rows: one row a run, with the column ``seconds``.
    """
    least, most = rows["seconds"].agg(["min", "max"]) / 60 if len(rows) else (None, None)
    return f"minutes a run, one core: {'–' if least is None else f'{least:.0f} to {most:.0f}'}"


def layer_cosines(rows: pd.DataFrame, prefix: str = "") -> pd.DataFrame:
    """The mean cosine of each state of each run, one row a state.

    Args:
        rows: one row a run, with the columns cosine_0 (before the first layer), cosine_1 and so on.
        prefix: ``init_`` for the models before training.

    Returns:
        The columns that name a run (params_hash, residual, depth, seed), layer, and mean cosine.
    """
    start = f"{prefix}cosine_"
    measured = [name for name in rows if name.startswith(start)]
    long = rows.melt(["params_hash", "residual", "depth", "seed"], measured, "layer", "mean cosine")
    long["layer"] = long["layer"].str.removeprefix(start).astype(int)
    return long.dropna(subset=["mean cosine"])


def _in_order(values: pd.Series) -> pd.Categorical:
    return pd.Categorical(values, KINDS if set(values) <= set(KINDS) else values.unique())
