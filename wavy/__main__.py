"""``python -m wavy``: the console command, where the package is not installed but on the path."""

from wavy.cli import app

app()
