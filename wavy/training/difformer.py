"""One run of the DIFFormer experiment, from parameters to fit."""

from __future__ import annotations

import torch
from torch_geometric import seed_everything
from torch_geometric.data import Data

from wavy.data import load_graph
from wavy.experiments.difformer import DifformerRun
from wavy.hosts.difformer import DIFFormer
from wavy.training.device import check_device
from wavy.training.graph import prepare_graph
from wavy.training.node import NodeFit, fit_node_classifier
from wavy.training.scores import num_outputs


def run_graph(run: DifformerRun, device: str = "cpu") -> Data:
    """The prepared graph of a run: split by the run's seed, with self loops."""
    return prepare_graph(load_graph(run.dataset), run.split, run.seed, run.normalize_features).to(device)


def build_difformer(run: DifformerRun, data: Data) -> DIFFormer:
    """The untrained model of a run."""
    return DIFFormer(
        data.num_features,
        run.hidden_channels,
        num_outputs(data, run.metric),
        num_layers=run.depth,
        heads=run.heads,
        kernel=run.kernel,
        residual=run.residual,
        tau=run.tau,
        theta_init=run.theta_init or 0.0,
        lam=run.lam,
        dropout=run.dropout,
        use_weight=run.use_weight,
        use_source=run.use_source,
        use_norm=run.use_norm,
        graph_weight=run.graph_weight,
        operator=run.operator,
        standardize=run.standardize,
    ).to(getattr(torch, run.dtype))


def train_difformer(run: DifformerRun, device: str = "cpu") -> NodeFit:
    """Train the model that ``run`` describes; the same run on the same machine gives the same fit."""
    check_device(device)
    data = run_graph(run, device if run.batch_size is None else "cpu")
    seed_everything(run.seed)
    model = build_difformer(run, data).to(device)
    return fit_node_classifier(
        model,
        data,
        epochs=run.epochs,
        lr=run.lr,
        weight_decay=run.weight_decay,
        patience=run.patience,
        metric=run.metric,
        batch_size=run.batch_size,
        eval_every=run.eval_every,
    )


def difformer_metrics(run: DifformerRun, device: str = "cpu") -> dict[str, float | None]:
    """The metrics of one run, for :func:`wavy.sweep.sweep`."""
    return train_difformer(run, device).metrics
