"""The console command ``wavy``: the companion's commands, sweeps, diagnoses. Imports are late: help stays quick."""

# ruff: noqa: PLC0415
from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wavy.companion.commands import app, one_line_errors
from wavy.companion.paths import CompanionError, Layout, suggest
from wavy.diagnose import diagnose

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["app"]

app.command()(diagnose)


@app.command()
def sweep(
    experiment: Annotated[str, typer.Argument(help="Name of an experiment, for instance difformer.")],
    p: Annotated[list[str] | None, typer.Option("-p", metavar="NAME=VALUE", help="A parameter; repeatable.")] = None,
    jobs: Annotated[
        int | None,
        typer.Option(help="Processes, one thread each; default one a physical core, 1 on a GPU. 1 runs here.", min=1),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Dask scheduler whose workers do the runs, for instance tcp://host:8786."),
    ] = None,
    rows: Annotated[Path | None, typer.Option(help="File of rows; default results/EXPERIMENT.jsonl.")] = None,
) -> None:
    """Do all runs of an experiment that have no row yet; stop it at any time and start it again."""
    with one_line_errors():
        import joblib

        from wavy.companion.parameters import check_parameters
        from wavy.experiments import EXPERIMENTS
        from wavy.sweep import sweep as run_sweep
        from wavy.training.device import check_device
        from wavy.training.runners import RUNNERS

        if experiment not in RUNNERS:
            raise CompanionError(f'no experiment "{experiment}"{suggest(experiment, list(RUNNERS))}')
        if cluster and jobs:
            raise CompanionError(f"jobs: found {jobs}, allowed none with --cluster: its workers do the runs")
        defaults = EXPERIMENTS[experiment]().model_dump(mode="json")
        study = EXPERIMENTS[experiment](**check_parameters(experiment, defaults, p or []))
        if not cluster:  # its workers may have what this machine lacks
            check_device(study.device)
        path = rows or Layout.find().root / "results" / f"{experiment}.jsonl"
        cores = joblib.cpu_count(only_physical_cores=True) if study.device == "cpu" else 1
        runs = study.runs()
        with _told_ends(path, runs):
            table = run_sweep(
                runs, RUNNERS[experiment], scale=study.scale, device=study.device, path=path, jobs=jobs or cores,
                cluster=cluster, minutes=study.minutes,
            )  # fmt: skip
        typer.echo(f"{len(table)} rows of this sweep stand in {path}")


@contextmanager
def _told_ends(path: Path, runs: list[BaseModel]) -> Iterator[None]:
    """End a sweep with status 130 after Ctrl-C and with 1 after failed runs, and say what stands."""
    from wavy import results
    from wavy.sweep import SweepError

    try:
        yield
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # pressed again, it shall not spoil the last line
        standing = len(results.select(path, runs))
        typer.echo(f"stopped; {standing} of {len(runs)} rows stand; the same command goes on", err=True)
        raise typer.Exit(130) from None
    except SweepError as error:
        typer.echo(f"wavy: {error}", err=True)
        raise typer.Exit(1) from None
    except OSError as error:
        raise CompanionError(f"{path.name}: a row could not be written ({error}); the rows so far stand") from None
