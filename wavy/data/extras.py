"""Packages of an extra that a data set needs: without one, its data are unavailable."""

from __future__ import annotations

from types import ModuleType

from wavy import extras
from wavy.data.sources import DataUnavailable


def require(package: str, extra: str) -> ModuleType:
    """Import a package or a module of it, as :func:`wavy.extras.require`.

    Raises:
        DataUnavailable: It cannot be imported; the line says how to install it.
    """
    try:
        return extras.require(package, extra)
    except ImportError as error:
        raise DataUnavailable(" ".join(str(error).split())) from error
