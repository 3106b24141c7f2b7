"""One run of the remedies' experiment, from parameters to metrics."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from statistics import median

import torch
from torch import nn
from torch_geometric import seed_everything
from torch_geometric.data import Data

from wavy.experiments.remedies import RemedyRun
from wavy.remedies.models import build_remedy
from wavy.training.device import check_device
from wavy.training.difformer import run_graph
from wavy.training.node import NodeFit, fit_node_classifier


@contextmanager
def _epoch_starts(model: nn.Module) -> Iterator[list[float]]:
    """Collect the times, in seconds, at which the epochs of a model in training begin.

    Args:
        model: called once in training mode in each epoch.

    Yields:
        A list that grows by one number an epoch.
    """
    starts = []

    def note(model: nn.Module, inputs: tuple) -> None:
        if model.training:
            starts.append(time.perf_counter())

    handle = model.register_forward_pre_hook(note)
    try:
        yield starts
    finally:
        handle.remove()


def build_model(run: RemedyRun, data: Data) -> nn.Module:
    """The untrained model of a run."""
    return build_remedy(
        run.residual,
        data.num_features,
        run.hidden_channels,
        int(data.y.max()) + 1,
        run.depth,
        dropout=run.dropout,
        tau=run.tau,
    ).to(getattr(torch, run.dtype))


def train_remedy(run: RemedyRun, device: str = "cpu") -> NodeFit:
    """Train the model that ``run`` describes; the metrics also hold ``parameters`` and ``epoch_seconds``.

    The same run on the same machine gives the same fit, but for ``epoch_seconds``, the median time of an epoch with its
    evaluation.
    """
    check_device(device)
    data = run_graph(run, device)
    seed_everything(run.seed)
    model = build_model(run, data).to(device)
    with _epoch_starts(model) as starts:
        fit = fit_node_classifier(model, data, epochs=run.epochs, lr=run.lr, weight_decay=run.weight_decay)
    # From one training step to the next, so with the evaluation; the end of the last epoch is not seen.
    seconds = [end - start for start, end in pairwise(starts)]
    fit.metrics["parameters"] = sum(parameter.numel() for parameter in model.parameters())
    fit.metrics["epoch_seconds"] = median(seconds) if seconds else None
    return fit


def remedy_metrics(run: RemedyRun, device: str = "cpu") -> dict[str, float | None]:
    """The metrics of one run, for :func:`wavy.sweep.sweep`."""
    return train_remedy(run, device).metrics
