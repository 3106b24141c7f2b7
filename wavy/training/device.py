"""Where to train."""

from __future__ import annotations

import torch

from wavy.checks import check_choice


def check_device(device: str) -> None:
    """Check that this machine has the device ``cpu`` or ``cuda``.

    Raises:
        ValueError: another name, or no GPU here.
    """
    check_choice("device", device, ("cpu", "cuda"))
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError("device: found 'cuda', but torch sees no GPU here; allowed cpu")
