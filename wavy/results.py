"""Results rows: what one finished run leaves behind, and tables of them.

:mod:`wavy.rowfile` keeps the rows of an experiment in ``results/<experiment>.jsonl``.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import BaseModel

from wavy import __version__
from wavy.rowfile import KEYS, NAMED, Row, read


def params_hash(experiment: str, params: dict[str, Any]) -> str:
    """Twelve hex digits that name one run: a hash of the experiment and its parameters, order ignored."""
    text = json.dumps([experiment, params], sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def run_hash(run: BaseModel) -> str:
    """The hash of a run's parameter object.

    Parameters at their defaults are left out, so that a parameter added later leaves the old rows' names alone; the
    default of an existing parameter must therefore never change.
    """
    return params_hash(run.experiment, run.model_dump(mode="json", exclude_defaults=True))


def make_row(run: BaseModel, scale: str, metrics: dict[str, float | None], seconds: float, device: str) -> Row:
    """A row for a finished run.

    Args:
        run: the run's parameter object, with experiment, model_name, dataset, residual, depth, tau and seed.
        scale: the scale that asked for it.
        metrics: name -> finite number, or ``None`` where there is none. A perplexity may be infinite: the exponential
            of a loss, which stands beside it, has overflowed. It is written as ``None``.
        seconds: wall-clock time.
        device: where it ran.

    Raises:
        ValueError: another metric is NaN or infinite, or a perplexity is NaN.
    """
    metrics = {name: None if _overflown(name, value) else value for name, value in metrics.items()}
    named = {name: getattr(run, name) for name in NAMED}
    versions = {"python": platform.python_version()}
    versions |= {package: version(package) for package in ("torch", "torch-geometric")} | {"wavy": __version__}
    row = {
        "experiment": run.experiment, "scale": scale, "model": run.model_name, **named,
        "params": run.model_dump(mode="json"), "params_hash": run_hash(run), "metrics": metrics,
        "seconds": round(seconds, 2), "device": device, "versions": versions, "revision": REVISION,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }  # fmt: skip
    bad = {name: value for name, value in metrics.items() if not (value is None or math.isfinite(value))}
    if bad:
        raise ValueError(f"metrics: found {bad}, allowed finite numbers or None")
    return {key: row[key] for key in KEYS}


def _overflown(name: str, value: float | None) -> bool:
    return name.endswith("perplexity") and value == math.inf


def frame(path: Path) -> pd.DataFrame:
    """The rows of a file as a table, see :func:`to_frame`."""
    return to_frame(read(path))


def select(path: Path, runs: Iterable[BaseModel]) -> pd.DataFrame:
    """The rows of a file that belong to the given runs, in the order of the runs, as a table."""
    known = {row["params_hash"]: row for row in read(path)}
    return to_frame([known[name] for name in map(run_hash, runs) if name in known])


def to_frame(rows: list[Row]) -> pd.DataFrame:
    """Rows as a table: the top-level keys, then each metric as a column of its own; of no rows, the keys alone."""
    columns = [key for key in KEYS if key not in ("params", "metrics")]
    if not rows:
        return pd.DataFrame(columns=columns)
    return pd.DataFrame([{key: row[key] for key in columns} | row["metrics"] for row in rows])


def revision(*folders: Path) -> str:
    """The commit of the code on disk, ``-dirty`` where a folder differs from it.

    Outside a checkout it is what $WAVY_REVISION says, for copies that are sent to another machine, or ``unknown``.

    Args:
        folders: what counts as the code, all in one checkout.
    """
    try:
        commit = _git(folders[0], "rev-parse", "--short=12", "HEAD")
        changed = _git(folders[0], "status", "--porcelain", "--", *map(str, folders))
        return f"{commit}-dirty" if changed else commit
    except (OSError, subprocess.CalledProcessError):
        return os.environ.get("WAVY_REVISION", "unknown")


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


# Taken now: later the checkout may hold other code than this process has loaded.
REVISION = revision(Path(__file__).parent)
