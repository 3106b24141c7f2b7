"""The studies of the book in three stages: sweeps, their notebooks, and notebooks that read the rows of several.

Each stage has a share of the time, and does its work side by side, all at one scale. A sweep is told when to start no
new run, and is killed at the end of the stage: a row is written as soon as its run ends, so what has been reached
stands.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from wavy.checks import check_choice
from wavy.companion.gpu import LOGS, NOTEBOOKS, ROWS
from wavy.companion.gpu.parcel import new_rows, pack, standing
from wavy.companion.gpu.processes import run_side_by_side
from wavy.companion.paths import Layout
from wavy.experiments import EXPERIMENTS
from wavy.training.runners import RUNNERS

#: Shares of the time for the sweeps and for their notebooks; what is left is for notebooks that only read.
SWEEPS, STUDIES = 0.6, 0.3
#: Part of a stage after which no new run is started.
LAST_START = 0.6


@dataclass(frozen=True)
class Plan:
    """What is run, and how.

    Args:
        scale: of the studies.
        device: where they train.
        minutes: for everything.
        jobs: processes of each sweep.
        experiments: what is swept.
    """

    scale: str
    device: str
    minutes: float
    jobs: int
    experiments: tuple[str, ...]

    def sweep(self, experiment: str) -> list[str]:
        """The command of a sweep."""
        return [*self._wavy("sweep", experiment, SWEEPS), "--jobs", str(self.jobs)]

    def notebook(self, name: str, output: Path) -> list[str]:
        """The command that executes a notebook, with the runs that are still missing if there is time for them."""
        return [*self._wavy("run", name, STUDIES), "--output", str(output)]

    def reader(self, name: str, output: Path) -> list[str]:
        """The command that executes a notebook which runs nothing itself."""
        return [*_wavy("run", name, scale=self.scale), "--output", str(output)]

    def _wavy(self, command: str, name: str, share: float) -> list[str]:
        minutes = f"{self.minutes * share * LAST_START:g}"
        return _wavy(command, name, scale=self.scale, device=self.device, minutes=minutes)


def _wavy(command: str, name: str, **values: str) -> list[str]:
    settings = [word for key, value in values.items() for word in ("-p", f"{key}={value}")]
    return [sys.executable, "-m", "wavy", command, name, *settings]


def run_plan(plan: Plan, layout: Layout, out: Path) -> dict[str, str]:
    """Do all of a plan and leave what comes of it in a folder.

    Args:
        plan: what to do.
        layout: the checkout; rows are added to its results.
        out: gets an archive of new rows, one of executed notebooks, and one of logs, one for each command.

    Returns:
        What became of each command.
    """
    out.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    results = layout.root / "results"
    before = standing(results, plan.experiments)
    sweeps = {f"sweep-{name}": plan.sweep(name) for name in plan.experiments}
    logs = layout.build / "gpu-logs"
    logs.mkdir(parents=True, exist_ok=True)
    ends = run_side_by_side(sweeps, logs, 60 * plan.minutes * SWEEPS)
    _pack_files(out / LOGS, logs, "*.log")
    pack(out / ROWS, new_rows(standing(results, plan.experiments), before))
    executed = layout.build / "gpu"
    names = [name for name in plan.experiments if name in layout.names()]
    notebooks = {f"notebook-{name}": plan.notebook(name, executed / f"{name}.ipynb") for name in names}
    ends |= run_side_by_side(notebooks, logs, start + 60 * plan.minutes * (SWEEPS + STUDIES) - time.monotonic())
    names = [name for name in readers(plan.scale) if name in layout.names()]
    notebooks = {f"notebook-{name}": plan.reader(name, executed / f"{name}.ipynb") for name in names}
    ends |= run_side_by_side(notebooks, logs, start + 60 * plan.minutes - time.monotonic())
    _pack_files(out / LOGS, logs, "*.log")
    pack(out / ROWS, new_rows(standing(results, plan.experiments), before))
    _pack_files(out / NOTEBOOKS, executed, "*.ipynb")
    return ends


def _pack_files(archive: Path, folder: Path, pattern: str) -> None:
    pack(archive, {path.name: path.read_bytes() for path in sorted(folder.glob(pattern))})


def with_scale(scale: str) -> list[str]:
    """The experiments that have runs at a scale.

    Raises:
        ValueError: no experiment has the scale.
    """
    check_choice("scale", scale, dict.fromkeys(known for name in RUNNERS for known in EXPERIMENTS[name].scales))
    return [name for name in RUNNERS if scale in EXPERIMENTS[name].scales]


def readers(scale: str) -> list[str]:
    """The notebooks that read recorded rows of a scale, and train nothing."""
    fields = {name: EXPERIMENTS[name].model_fields.get("scale") for name in EXPERIMENTS if name not in RUNNERS}
    return [name for name, field in fields.items() if field and scale in get_args(field.annotation)]


def main(words: Sequence[str] | None = None) -> int:
    """Read the arguments, run the plan, and say in one line what became of each command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of what comes back")
    parser.add_argument("--minutes", type=float, default=9.0, help="for everything")
    parser.add_argument("--jobs", type=int, default=3, help="processes of each sweep")
    parser.add_argument("--scale", default="gpu")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--experiments", nargs="+", choices=sorted(RUNNERS), help="default all that have the scale")
    given = parser.parse_args(words)
    try:
        experiments = tuple(given.experiments or with_scale(given.scale))
    except ValueError as error:
        raise SystemExit(str(error)) from None
    plan = Plan(given.scale, given.device, given.minutes, given.jobs, experiments)
    ends = run_plan(plan, Layout.find(), given.out)
    for name, end in ends.items():
        print(f"{name}: {end}")
    return int(any(end.startswith("failed") for end in ends.values()))


if __name__ == "__main__":
    sys.exit(main())
