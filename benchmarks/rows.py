"""Measurements as rows: one JSON object a line, with all that is needed to judge and repeat it."""

from __future__ import annotations

import json
import math
import platform
import statistics
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import timm
import torch
import transformers

from wavy.results import revision

ROOT = Path(__file__).parent.parent
FILE = ROOT / "results" / "benchmarks.jsonl"
THREADS = 2


def spread(values: Sequence[float]) -> dict[str, float]:
    """Median, quartiles, and the 95 % interval of the median.

    ``value``, ``low``, ``high``, and ``least``, ``most``: the order statistics between which the median of all rounds
    that could have been lies with that probability, whatever the distribution. They are the ends where there are few.
    """
    ordered = sorted(values)
    edge = max(0, math.floor((len(ordered) - 1.96 * math.sqrt(len(ordered))) / 2))
    quartiles = [ordered[0]] * 3 if len(ordered) == 1 else statistics.quantiles(ordered, n=4, method="inclusive")
    low, value, high = quartiles
    return {"value": value, "low": low, "high": high, "least": ordered[edge], "most": ordered[-1 - edge]}


def write(path: Path | None, benchmark: str, values: Sequence[float], unit: str, **about: object) -> dict[str, object]:
    """Append one measurement to a file of rows; ``None`` only returns it.

    Args:
        path: the file.
        benchmark: which script.
        values: one a repeat; the row holds their spread.
        unit: of the values; ``ratio`` is to the stock model.
        about: what was measured, and in which setting.
    """
    row = {"benchmark": benchmark, **about, "unit": unit, **spread(values), "repeats": len(values), **_machine()}
    if path is not None:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
    return row


def _machine() -> dict[str, object]:
    return {
        "threads": torch.get_num_threads(),
        "device": platform.machine(),
        "versions": {"torch": torch.__version__, "timm": timm.__version__, "transformers": transformers.__version__},
        "revision": revision(ROOT / "wavy", ROOT / "benchmarks"),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }
