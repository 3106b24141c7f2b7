"""Node classification: full batch or mini-batches, model selection by validation data alone."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field

import pandas as pd
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from wavy.checks import check_choice
from wavy.hosts.propagation import Propagation, sparse_features
from wavy.training.batches import induced_batches
from wavy.training.scores import METRICS, score, training_loss

#: Below this share of non-zero features the input layer runs as a sparse product.
SPARSE_BELOW = 0.1


@dataclass
class NodeFit:
    """What one training run found. ``model`` holds the weights of the selected epoch.

    ``metrics``: train_accuracy, val_accuracy and test_accuracy of the selected epoch (shares in [0, 1]), or
    ``train_roc_auc`` and so on where ROC-AUC judges; best_epoch, epochs (those that ran), train_loss (last
    epoch), diverged (1 where the loss stopped being finite).
    ``history``: one row an epoch: epoch, loss, and where it was evaluated train_accuracy and val_accuracy
    (or ROC-AUC). Test data are not in it.
    """

    model: nn.Module
    metrics: dict[str, float]
    history: pd.DataFrame


@dataclass
class _Best:
    score: float = -1.0
    epoch: int = 0
    state: dict[str, Tensor] = field(default_factory=dict)


def fit_node_classifier(
    model: nn.Module,
    data: Data,
    *,
    epochs: int,
    lr: float,
    weight_decay: float,
    patience: int | None = None,
    metric: str = "accuracy",
    batch_size: int | None = None,
    eval_every: int = 1,
) -> NodeFit:
    """Train on train_mask with Adam; keep the first epoch of the highest validation score.

    Loss and score are cross entropy and accuracy, or binary cross entropy and ROC-AUC: see
    :mod:`wavy.training.scores`. The test score is computed once, for the epoch that validation selected. Evaluation is
    always on the full graph, and where ``data`` lies: a graph too large for the GPU stays in main memory.

    Args:
        model: a module called as ``model(x, graph) -> logits (N, C)``, for instance a DIFFormer.
        data: from :func:`wavy.training.graph.prepare_graph`; with ``batch_size`` it may lie elsewhere than the model.
        epochs: the most epochs.
        lr: Adam's learning rate.
        weight_decay: Adam's L2 penalty.
        patience: stop after so many epochs without a better validation score; ``None`` runs all epochs.
        metric: ``accuracy`` or ``roc_auc``; the latter for labels 0 and 1, of one task or several.
        batch_size: nodes of a random share, whose induced subgraph makes one step; ``None`` for one step an epoch
            with the full graph.
        eval_every: evaluate the first epoch and then every so many.

    Returns:
        A :class:`NodeFit`.
    """
    check_choice("metric", metric, METRICS)
    inputs = model_inputs(model, data)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr, weight_decay=weight_decay, fused=True)
    best, history, diverged = _Best(state=_snapshot(model)), [], 0
    for epoch in range(1, epochs + 1):
        if batch_size is None:
            loss = _step(model, inputs, data, metric, optimizer)
        else:
            loss = _steps(model, data, metric, batch_size, optimizer)
        if not math.isfinite(loss):
            diverged = 1
            break
        history.append({"epoch": epoch, "loss": loss})
        if (epoch - 1) % eval_every:
            continue
        logits = predict(_beside(data, model), inputs)
        history[-1] |= {f"{part}_{metric}": score(logits, data, part, metric) for part in ("train", "val")}
        if (found := history[-1][f"val_{metric}"]) > best.score:
            best = _Best(found, epoch, _snapshot(model))
        elif patience is not None and epoch - best.epoch >= patience:
            break
    model.load_state_dict(best.state)
    logits = predict(_beside(data, model), inputs)
    metrics = {f"{part}_{metric}": score(logits, data, part, metric) for part in ("train", "val", "test")}
    metrics |= {"best_epoch": best.epoch, "epochs": len(history), "diverged": diverged}
    metrics["train_loss"] = history[-1]["loss"] if history else None
    return NodeFit(model, metrics, pd.DataFrame(history))


def model_inputs(model: nn.Module, data: Data) -> tuple[Tensor, Tensor | Propagation]:
    """What to call the model with: features (sparse where that is faster) and the prepared graph."""
    dtype = next(model.parameters()).dtype
    x = data.x.to(dtype)
    if x.layout != torch.strided or (x != 0).double().mean() < SPARSE_BELOW:
        x = sparse_features(x)
    graph = data.edge_index
    if hasattr(model, "propagation"):
        graph = model.propagation(data.edge_index, data.num_nodes, data.edge_weight)
    return x, graph


def _step(model: nn.Module, inputs: tuple, data: Data, metric: str, optimizer: torch.optim.Optimizer) -> float:
    model.train()
    optimizer.zero_grad()
    loss = training_loss(model(*inputs), data, metric)
    loss.backward()
    optimizer.step()
    return loss.item()


def _steps(model: nn.Module, data: Data, metric: str, batch_size: int, optimizer: torch.optim.Optimizer) -> float:
    """One step a mini-batch; the mean loss of the training nodes."""
    device, total = next(model.parameters()).device, 0.0
    for batch in induced_batches(data, batch_size):
        if share := int(batch.train_mask.sum()):  # without training nodes there is nothing to learn
            batch.to(device)
            total += share * _step(model, model_inputs(model, batch), batch, metric, optimizer)
    return total / int(data.train_mask.sum())


@torch.no_grad()
def predict(model: nn.Module, inputs: tuple) -> Tensor:
    """Logits in eval mode, (N, C)."""
    model.eval()
    return model(*inputs)


def _beside(data: Data, model: nn.Module) -> nn.Module:
    """The model, or a copy of it where the data lie."""
    if next(model.parameters()).device == data.y.device:
        return model
    return copy.deepcopy(model).to(data.y.device)


def _snapshot(model: nn.Module) -> dict[str, Tensor]:
    return copy.deepcopy(model.state_dict())
