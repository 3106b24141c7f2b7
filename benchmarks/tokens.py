"""Time and memory of the layer profile against the number of tokens, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import torch
from torch import Tensor, nn

from benchmarks.allocator import default_environment
from benchmarks.peak import peak, reset_peak, resident
from benchmarks.rows import ROOT, write
from wavy.diagnostics import layer_profile

COUNTS = (1_024, 4_096, 16_384, 65_536)
WIDTH = 192


class Copies(nn.Module):
    """Layers that hand the state on, so that the measures are all there is to do."""

    def __init__(self, num_layers: int = 3) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Identity() for _ in range(num_layers))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


def run(counts: tuple[int, ...], path: Path | None, repeats: int = 5) -> list[dict[str, object]]:
    """Rows of seconds a layer, and of the bytes added at the peak over those of the state."""
    rows = []
    for count in counts:
        command = [sys.executable, "-m", "benchmarks.tokens", str(count), str(repeats)]
        options = {"cwd": ROOT, "env": default_environment(), "check": True, "capture_output": True, "text": True}
        found = json.loads(subprocess.run(command, **options).stdout)  # noqa: PLW1510
        about = {"tokens": count, "width": WIDTH, "settings": "all measures of one state, single precision"}
        rows.append(write(path, "tokens", found["seconds"], "s", **about))
        rows.append(write(path, "tokens", [found["bytes"]], "states", **about))
    return rows


def measure(count: int, repeats: int) -> dict[str, object]:
    """Seconds a layer, one a repeat, and bytes added at the peak, in states."""
    model, x = Copies(), torch.randn(count, WIDTH, generator=torch.Generator().manual_seed(0))
    layer_profile(model, x[:8])  # loads what is loaded late
    reset_peak()
    before = resident()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        layer_profile(model, x)
        seconds.append((time.perf_counter() - start) / len(model.layers))
    return {"seconds": seconds, "bytes": (peak() - before) / (x.numel() * x.element_size())}


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]), int(sys.argv[2]))))
