"""Protect `pytest --nbval notebooks/`: see `wavy.companion.nbval_plugin`."""

from wavy.companion.nbval_plugin import pytest_collect_file, pytest_configure

__all__ = ["pytest_collect_file", "pytest_configure"]
