"""Packages that come with an extra of wavy and are imported when they are needed."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from types import ModuleType


class MissingPackage(ModuleNotFoundError, ValueError):
    """A package of an extra is not installed. A ValueError too, as all that the user can put right."""


def require(package: str, extra: str) -> ModuleType:
    """Import a package or a module of it.

    Args:
        package: for instance ``timm``, or ``PIL.Image``.
        extra: of wavy, that has the package.

    Raises:
        MissingPackage: it cannot be imported; the line says how to install it.
    """
    name = package.partition(".")[0]
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != name or find_spec(name):
            raise  # the package is there, and lacks a part or another package
        raise MissingPackage(
            f'the package {name} is missing; install the extra: pip install "wavy[{extra}]"', name=name
        ) from None
