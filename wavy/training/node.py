"""Node classification: full-batch training, model selection by validation accuracy."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field

import pandas as pd
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Data

from wavy.hosts.propagation import Propagation, sparse_features

#: Below this share of non-zero features the input layer runs as a sparse product.
SPARSE_BELOW = 0.1


@dataclass
class NodeFit:
    """What one training run found. ``model`` holds the weights of the selected epoch.

    ``metrics``: val_accuracy, test_accuracy and train_accuracy of the selected epoch (shares in [0, 1]), best_epoch,
    epochs (those that ran), train_loss (last epoch), diverged (1 where the loss stopped being finite).
    ``history``: one row an epoch: epoch, loss, train_accuracy, val_accuracy. Test data are not in it.
    """

    model: nn.Module
    metrics: dict[str, float]
    history: pd.DataFrame


@dataclass
class _Best:
    val_accuracy: float = -1.0
    epoch: int = 0
    state: dict[str, Tensor] = field(default_factory=dict)


def fit_node_classifier(
    model: nn.Module, data: Data, *, epochs: int, lr: float, weight_decay: float, patience: int | None = None
) -> NodeFit:
    """Train on train_mask with Adam and cross entropy; keep the first epoch of the highest validation accuracy.

    Test accuracy is computed once, for the epoch that validation selected.

    Args:
        model: a module called as ``model(x, graph) -> logits (N, C)``, for instance a DIFFormer.
        data: from :func:`wavy.training.graph.prepare_graph`.
        epochs: the most epochs.
        lr: Adam's learning rate.
        weight_decay: Adam's L2 penalty.
        patience: stop after so many epochs without a better validation accuracy; ``None`` runs all epochs.

    Returns:
        A :class:`NodeFit`.
    """
    inputs = model_inputs(model, data)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr, weight_decay=weight_decay, fused=True)
    best, history, diverged = _Best(state=_snapshot(model)), [], 0
    for epoch in range(1, epochs + 1):
        loss = _step(model, inputs, data, optimizer)
        if not math.isfinite(loss):
            diverged = 1
            break
        predicted = predict(model, inputs)
        row = {"epoch": epoch, "loss": loss}
        row |= {f"{part}_accuracy": accuracy(predicted, data, part) for part in ("train", "val")}
        history.append(row)
        if row["val_accuracy"] > best.val_accuracy:
            best = _Best(row["val_accuracy"], epoch, _snapshot(model))
        elif patience is not None and epoch - best.epoch >= patience:
            break
    model.load_state_dict(best.state)
    predicted = predict(model, inputs)
    metrics = {f"{part}_accuracy": accuracy(predicted, data, part) for part in ("train", "val", "test")}
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


def _step(model: nn.Module, inputs: tuple, data: Data, optimizer: torch.optim.Optimizer) -> float:
    model.train()
    optimizer.zero_grad()
    logits = model(*inputs)
    loss = F.cross_entropy(logits[data.train_mask], data.y[data.train_mask])
    loss.backward()
    optimizer.step()
    return loss.item()


@torch.no_grad()
def predict(model: nn.Module, inputs: tuple) -> Tensor:
    """Predicted classes in eval mode, (N,)."""
    model.eval()
    return model(*inputs).argmax(dim=-1)


def accuracy(predicted: Tensor, data: Data, part: str) -> float:
    """Share of the nodes of ``part`` (train, val or test) whose class is predicted right."""
    mask = data[f"{part}_mask"]
    return (predicted[mask] == data.y[mask]).double().mean().item()


def _snapshot(model: nn.Module) -> dict[str, Tensor]:
    return copy.deepcopy(model.state_dict())
