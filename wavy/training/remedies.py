"""One run of the remedies' experiment, from parameters to metrics."""

from __future__ import annotations

import torch
from torch import nn
from torch_geometric import seed_everything
from torch_geometric.data import Data

from wavy.experiments.remedies import RemedyRun
from wavy.remedies.models import build_remedy
from wavy.training.clock import median_round, round_starts
from wavy.training.device import check_device
from wavy.training.difformer import run_graph
from wavy.training.node import NodeFit, fit_node_classifier
from wavy.training.scores import num_outputs


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
    with round_starts(model) as starts:
        fit = fit_node_classifier(
            model, data, epochs=run.epochs, lr=run.lr, weight_decay=run.weight_decay, metric=run.metric
        )
    fit.metrics["parameters"] = sum(parameter.numel() for parameter in model.parameters())
    fit.metrics["epoch_seconds"], fit.metrics["epoch_cpu_seconds"] = median_round(starts)
    return fit


def remedy_metrics(run: RemedyRun, device: str = "cpu") -> dict[str, float | None]:
    """The metrics of one run, for :func:`wavy.sweep.sweep`."""
    return train_remedy(run, device).metrics
