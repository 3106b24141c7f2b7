"""One run of the remedies' experiment, from parameters to metrics."""

from __future__ import annotations

import time
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


class EpochTimer:
    """Seconds of each epoch of a model in training: from one training step to the next, evaluation included.

    Args:
        model: called once in training mode in each epoch.
    """

    def __init__(self, model: nn.Module) -> None:
        self._starts: list[float] = []
        model.register_forward_pre_hook(self._note)

    def _note(self, model: nn.Module, inputs: tuple) -> None:
        if model.training:
            self._starts.append(time.perf_counter())

    def median(self) -> float | None:
        """The median over the epochs but the last, whose end is not seen; ``None`` where there was one only."""
        seconds = [end - start for start, end in zip(self._starts, self._starts[1:], strict=False)]
        return median(seconds) if seconds else None


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

    The same run on the same machine gives the same fit, but for ``epoch_seconds``, the median time of an epoch.
    """
    check_device(device)
    data = run_graph(run, device)
    seed_everything(run.seed)
    model = build_model(run, data).to(device)
    timer = EpochTimer(model)
    fit = fit_node_classifier(model, data, epochs=run.epochs, lr=run.lr, weight_decay=run.weight_decay)
    fit.metrics["parameters"] = sum(parameter.numel() for parameter in model.parameters())
    fit.metrics["epoch_seconds"] = timer.median()
    return fit


def remedy_metrics(run: RemedyRun, device: str = "cpu") -> dict[str, float | None]:
    """The metrics of one run, for :func:`wavy.sweep.sweep`."""
    return train_remedy(run, device).metrics
