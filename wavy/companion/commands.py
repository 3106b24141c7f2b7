"""The commands of the companion, for ``wavy.cli`` to mount. Imports are late, so that ``wavy --help`` stays quick."""

# ruff: noqa: PLC0415
from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from wavy.companion import TIME_LIMIT
from wavy.companion.paths import CompanionError, Layout

app = typer.Typer(no_args_is_help=True, help="Run and check the notebooks.")

Timeout = Annotated[float, typer.Option(help="Time limit in seconds for a whole notebook.", min=1)]
OwnTimeout = Annotated[
    float | None,
    typer.Option(help="Time limit in seconds for the notebook; default an hour at scale quick, else none.", min=1),
]


@app.command()
def run(
    notebook: Annotated[str, typer.Argument(help="Name of a notebook, or the path of its .md or .ipynb file.")],
    p: Annotated[list[str] | None, typer.Option("-p", metavar="NAME=VALUE", help="A parameter; repeatable.")] = None,
    output: Annotated[Path | None, typer.Option(help="The .ipynb to write; default in _build/runs/.")] = None,
    timeout: OwnTimeout = None,
) -> None:
    """Run a notebook at parameters of your own; the committed reference stays as it is."""
    with one_line_errors():
        from wavy.companion.runner import run_notebook

        typer.echo(f"written to {run_notebook(notebook, p or [], output, timeout)}")


@app.command()
def execute(timeout: Timeout = TIME_LIMIT) -> None:
    """Run all notebooks that may have changed, and compare them with their references."""
    with one_line_errors():
        from wavy.companion.execute import execute_all

        if not execute_all(Layout.find(), timeout):
            raise typer.Exit(1)


@app.command()
def reference(
    names: Annotated[list[str] | None, typer.Argument(help="Names of notebooks; default all.")] = None,
    timeout: Timeout = TIME_LIMIT,
) -> None:
    """Execute notebooks anew and overwrite their committed references."""
    with one_line_errors():
        from wavy.companion.reference import make_references

        if not make_references(Layout.find(), names or [], timeout):
            raise typer.Exit(1)


@app.command("check-notebooks")
def check_notebooks() -> None:
    """Check, without running anything, that every reference belongs to its source and is well formed."""
    with one_line_errors():
        from wavy.companion.reference import check_references

        if not check_references(Layout.find()):
            raise typer.Exit(1)


@contextmanager
def one_line_errors() -> Iterator[None]:
    """End with status 1 and the message alone where the user can put things right.

    That is for every ``ValueError``, for data that cannot be had, and for a package that is not installed.
    """
    try:
        yield
    except CompanionError as error:
        typer.echo(f"wavy: {error}", err=True)
        raise typer.Exit(1) from None
    except (ValueError, RuntimeError) as error:
        if not (isinstance(error, ValueError) or _is_missing_data(error)):
            raise
        from wavy.companion.messages import one_line

        typer.echo(f"wavy: {one_line(error)}", err=True)
        raise typer.Exit(1) from None
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("wavy"):
            raise
        typer.echo(f'wavy: the package {error.name} is missing; install the extra: pip install "wavy[book]"', err=True)
        raise typer.Exit(1) from None


def _is_missing_data(error: Exception) -> bool:
    data = sys.modules.get("wavy.data")  # slow to import, and imported already by whoever raised its exception
    return data is not None and isinstance(error, data.DataUnavailable)
