"""What a published checkpoint may be: a file or a mapping, of tensors or of numpy arrays."""

from __future__ import annotations

import os
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor


def read_state_dict(source: object) -> dict[str, Tensor]:
    """The tensors of a checkpoint by name.

    Args:
        source: a mapping, or the path of a file that torch reads with ``weights_only=True``; the names may lie under
            the key ``model``.

    Raises:
        ValueError: anything else, in one line.
    """
    if isinstance(source, (str, os.PathLike)):
        source = _load(source)
    if isinstance(source, Mapping):
        source = source.get("model", source)
    if not isinstance(source, Mapping):
        hint = "; pass its state_dict()" if isinstance(source, torch.nn.Module) else ""
        raise ValueError(
            f"state_dict: found {type(source).__name__}, allowed a mapping of names to tensors or numpy arrays, or the "
            f"path of one{hint}"
        )
    return {str(name): _tensor(name, value) for name, value in source.items()}


def _load(path: str | os.PathLike[str]) -> object:
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a file from elsewhere may break in many ways
        fault = error.strerror if isinstance(error, OSError) else type(error).__name__
        raise ValueError(
            f"state_dict: {os.fspath(path)} cannot be read ({fault}), allowed a checkpoint that holds tensors alone"
        ) from None


def _tensor(name: object, value: object) -> Tensor:
    if isinstance(value, Tensor):
        return value
    try:
        if isinstance(value, (np.ndarray, np.generic)):
            return torch.from_numpy(np.array(value))  # a copy, which may be written
    except TypeError:  # of texts or objects
        pass
    kind = f"array of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
    raise ValueError(f"state_dict: found {kind} as {name}, allowed tensors or numpy arrays of numbers")
