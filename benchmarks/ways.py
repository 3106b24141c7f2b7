"""Which ways to a cheaper full wave pay: each is left out, or tried, alone; ratios to the stock model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from unittest.mock import patch

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.allocator import freed_memory
from benchmarks.models import Case, build, inference_step, training_step
from benchmarks.rows import write
from benchmarks.speed import interleaved
from wavy.hosts import pairs
from wavy.hosts.timm_block import WavyTimmBlock
from wavy.hosts.timm_layers import mlp_pair
from wavy.layers import ACTIVATIONS, mlp_function, norm_function


def _under_autograd(*modules: object) -> Callable[[], AbstractContextManager]:
    """The formulas under autograd in place of our own backward pass."""

    @contextmanager
    def patched() -> Iterator[None]:
        first, last = (patch.object(module, "by_hand", lambda *_: False) for module in (modules[0], modules[-1]))
        with first, last:
            yield

    return patched


def _slope_times(along: Tensor, hidden: Tensor) -> Tensor:
    """phi'(h) dh of gelu, operation by operation."""
    bell = torch.exp(-0.5 * hidden * hidden) * 0.3989422804014327
    return along * (0.5 * (1 + torch.erf(hidden * 0.7071067811865476)) + hidden * bell)


@contextmanager
def _composed() -> Iterator[None]:
    with patch.dict(ACTIVATIONS, gelu=(F.gelu, _slope_times)), _under_autograd(mlp_function)():
        yield


def _stacked_pair(x: Tensor, velocity: Tensor, first: tuple, second: tuple, activation: str, _: float) -> tuple:
    """State and velocity through one matrix product for each layer."""
    phi, phi_prime_times = ACTIVATIONS[activation]
    hidden, along = F.linear(torch.cat([x, velocity]), first[0]).chunk(2)
    hidden = hidden + first[1]
    out = F.linear(torch.cat([phi(hidden), phi_prime_times(along, hidden)]), second[0])
    dx, dv = out.chunk(2)
    return dx + second[1], dv


@contextmanager
def _last_velocity() -> Iterator[None]:
    own = WavyTimmBlock._mlp_step

    def step(block: WavyTimmBlock, x: Tensor, memory: Tensor | None) -> object:
        if block.last and block.residual.carries_velocity:
            mlp_pair(block.mlp, *pairs.norm_pair(block.norm2, x, memory))
        return own(block, x, memory)

    with patch.object(WavyTimmBlock, "_mlp_step", step):
        yield


WAYS: dict[str, Callable[[], AbstractContextManager]] = {
    "as it is": nullcontext,
    "backward pass by autograd": _under_autograd(mlp_function, norm_function),
    "LayerNorm's backward pass by autograd": _under_autograd(norm_function),
    "mlp's backward pass by autograd": _under_autograd(mlp_function),
    "the same, derivative of gelu in single operations": _composed,
    "state and velocity in one product": lambda: patch.object(pairs.layers, "mlp_pair", _stacked_pair),
    "velocity's mlp in the last layer, too": _last_velocity,
    "hidden values not overwritten in inference": lambda: patch.dict(mlp_function._OVERWRITE, clear=True),
}


def within(way: Callable[[], AbstractContextManager], step: Callable[[], None]) -> Callable[[], None]:
    """A step done in a way."""

    def done() -> None:
        with way():
            step()

    return done


def run(name: str, case: Case, path: Path | None, repeats: int = 9) -> list[dict[str, object]]:
    """Rows of the ratios of a full wave in each way to the stock model, for inference and training."""
    batch, stock, full = case.inputs(case.batch), build(case, "stock"), build(case, "full")
    rows = []
    for step in ("inference", "training"):
        make = training_step if step == "training" else lambda _, model, batch: inference_step(model, batch)
        own = make(case, full, batch)
        steps = {"stock": make(case, stock, batch)} | {key: within(way, own) for key, way in WAYS.items()}
        seconds = interleaved(steps, repeats)
        for way in WAYS:
            ratios = [own / base for own, base in zip(seconds[way], seconds["stock"], strict=True)]
            about = {"model": name, "residual": "full", "step": step, "way": way, "batch": case.batch}
            about["freed_memory"] = freed_memory()
            rows.append(write(path, "ways", ratios, "ratio", settings=case.settings, **about))
    return rows
