"""The console command ``wavy``."""

from __future__ import annotations

import typer

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Run and check the book's experiments.")
