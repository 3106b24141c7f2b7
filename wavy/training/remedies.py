"""One run of the remedies' experiment, from parameters to metrics."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from statistics import median
from typing import NamedTuple

import torch
from torch import nn
from torch_geometric import seed_everything
from torch_geometric.data import Data

from wavy.experiments.remedies import RemedyRun
from wavy.remedies.models import build_remedy
from wavy.training.device import check_device
from wavy.training.difformer import run_graph
from wavy.training.node import NodeFit, fit_node_classifier
from wavy.training.scores import num_outputs


class _Clock(NamedTuple):
    """The seconds that have passed, and those that this process has computed, whatever else the machine did."""

    wall: float
    cpu: float


@contextmanager
def _epoch_starts(model: nn.Module) -> Iterator[list[_Clock]]:
    """Collect the times at which the epochs of a model in training begin.

    Args:
        model: called once in training mode in each epoch.

    Yields:
        A list that grows by one an epoch.
    """
    starts = []

    def note(model: nn.Module, inputs: tuple) -> None:
        if model.training:
            starts.append(_Clock(time.perf_counter(), time.process_time()))

    handle = model.register_forward_pre_hook(note)
    try:
        yield starts
    finally:
        handle.remove()


def _median_epoch(starts: list[_Clock]) -> _Clock | tuple[None, None]:
    # From one training step to the next, so with the evaluation; the end of the last epoch is not seen.
    seconds = [(end.wall - start.wall, end.cpu - start.cpu) for start, end in pairwise(starts)]
    return _Clock(*map(median, zip(*seconds, strict=True))) if seconds else (None, None)


def build_model(run: RemedyRun, data: Data) -> nn.Module:
    """The untrained model of a run."""
    return build_remedy(
        run.residual,
        data.num_features,
        run.hidden_channels,
        num_outputs(data, run.metric),
        run.depth,
        dropout=run.dropout,
        tau=run.tau,
    ).to(getattr(torch, run.dtype))


def train_remedy(run: RemedyRun, device: str = "cpu") -> NodeFit:
    """Train the model that ``run`` describes; the same run on the same machine gives the same fit, but for its times.

    The metrics also hold ``parameters``, their number, and the median of an epoch with its evaluation in seconds:
    ``epoch_seconds`` by the clock, and ``epoch_cpu_seconds`` of this process, which other work on the machine lengthens
    less.
    """
    check_device(device)
    data = run_graph(run, device)
    seed_everything(run.seed)
    model = build_model(run, data).to(device)
    with _epoch_starts(model) as starts:
        fit = fit_node_classifier(
            model, data, epochs=run.epochs, lr=run.lr, weight_decay=run.weight_decay, metric=run.metric
        )
    fit.metrics["parameters"] = sum(parameter.numel() for parameter in model.parameters())
    fit.metrics["epoch_seconds"], fit.metrics["epoch_cpu_seconds"] = _median_epoch(starts)
    return fit


def remedy_metrics(run: RemedyRun, device: str = "cpu") -> dict[str, float | None]:
    """The metrics of one run, for :func:`wavy.sweep.sweep`."""
    return train_remedy(run, device).metrics
