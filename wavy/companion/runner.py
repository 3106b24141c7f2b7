"""``wavy run``: one notebook at parameters of one's own, checked before it starts, without touching the reference."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path

import typer

from wavy.companion import TIME_LIMIT
from wavy.companion.execution import execute
from wavy.companion.parameters import check_parameters, read_parameters
from wavy.companion.paths import CompanionError, Layout, locate
from wavy.companion.source import read_source
from wavy.training.device import check_device


def run_notebook(notebook: str, settings: list[str], output: Path | None = None, timeout: float | None = None) -> Path:
    """Run a notebook and return the path of the executed copy.

    Args:
        notebook: stem of a notebook in notebooks/, or the path of its .md or .ipynb file.
        settings: parameters as typed, each "name=value".
        output: the .ipynb file to write; default ``_build/runs/NAME-<hash of the parameters>.ipynb``.
        timeout: time limit in seconds for the whole notebook; ``None`` is an hour, and no limit at the larger scales,
            which are made for many hours.

    Raises:
        CompanionError: a wrong setting or path (before the run), a failing cell, a dead kernel, or the time limit.
    """
    layout, name = locate(notebook)
    source = read_source(layout.source(name))
    defaults = read_parameters(source)
    parameters = check_parameters(name, defaults, settings)
    values = {**defaults, **parameters}
    if "device" in values:
        check_device(values["device"])
    target = _target(layout, name, values, output)
    if timeout is None:
        timeout = TIME_LIMIT if values.get("scale", "quick") == "quick" else math.inf
    typer.echo(f"{name}: {', '.join(f'{key}={value}' for key, value in parameters.items()) or 'default parameters'}")
    try:
        execute(
            source,
            target,
            layout.notebooks,
            parameters=parameters,
            timeout=timeout,
            progress=lambda k, n, seconds: typer.echo(f"{name}: cell {k} of {n}, {seconds:.1f} s"),
        )
    except CompanionError as error:
        partial = f"\n{name}: as far as it came: {target}" if target.exists() else ""
        raise type(error)(f"{name}: {error}{partial}") from None
    return target


def _target(layout: Layout, name: str, parameters: dict, output: Path | None) -> Path:
    """Return where to write, never a place where something would be lost."""
    if output is None:
        digest = hashlib.sha256(json.dumps(parameters, sort_keys=True).encode()).hexdigest()[:8]
        return layout.build / "runs" / f"{name}-{digest}.ipynb"
    target = output.resolve()
    if target.is_relative_to(layout.notebooks.resolve()):
        raise CompanionError(f"--output {output} lies in notebooks/, which holds the references; name another folder")
    if target.suffix != ".ipynb":
        raise CompanionError(f"--output {output} must end with .ipynb")
    if target.exists():
        raise CompanionError(f"--output {output} exists already; remove it or name another file")
    return target
