"""The console command ``wavy``: the companion's commands, sweeps, diagnoses. Imports are late: help stays quick."""

# ruff: noqa: PLC0415
from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wavy.companion.commands import app, one_line_errors
from wavy.companion.paths import CompanionError, Layout, suggest
from wavy.diagnose import diagnose

__all__ = ["app"]

app.command()(diagnose)


@app.command()
def sweep(
    experiment: Annotated[str, typer.Argument(help="Name of an experiment, for instance difformer.")],
    p: Annotated[list[str] | None, typer.Option("-p", metavar="NAME=VALUE", help="A parameter; repeatable.")] = None,
    jobs: Annotated[int, typer.Option(help="Processes, one thread each.", min=1)] = 1,
    rows: Annotated[Path | None, typer.Option(help="File of rows; default results/EXPERIMENT.jsonl.")] = None,
) -> None:
    """Do all runs of an experiment that have no row yet; stop it at any time and start it again."""
    with one_line_errors():
        from wavy.companion.parameters import check_parameters
        from wavy.experiments import EXPERIMENTS
        from wavy.sweep import sweep as run_sweep
        from wavy.training.runners import RUNNERS

        if experiment not in RUNNERS:
            raise CompanionError(f'no experiment "{experiment}"{suggest(experiment, list(RUNNERS))}')
        defaults = EXPERIMENTS[experiment]().model_dump(mode="json")
        study = EXPERIMENTS[experiment](**check_parameters(experiment, defaults, p or []))
        path = rows or Layout.find().root / "results" / f"{experiment}.jsonl"
        table = run_sweep(
            study.runs(), RUNNERS[experiment], scale=study.scale, device=study.device, path=path, jobs=jobs
        )
        typer.echo(f"{len(table)} rows of this sweep stand in {path}")
