"""What a node classifier learns by and is judged by: cross entropy and accuracy, or its binary form and ROC-AUC."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from scipy.stats import rankdata
from torch import Tensor
from torch_geometric.data import Data

from wavy.checks import check_choice

#: What a model is judged by; each goes with a loss of its own.
METRICS = ("accuracy", "roc_auc")


def num_outputs(data: Data, metric: str) -> int:
    """How many logits a node gets: one for each class, or for ROC-AUC one for each yes-or-no task.

    Raises:
        ValueError: an unknown metric, accuracy of nodes with several labels, or ROC-AUC of more than two classes.
    """
    check_choice("metric", metric, METRICS)
    several, classes = data.y.dim() == 2, int(data.y.max()) + 1
    if metric == "roc_auc":
        if classes > 2:
            raise ValueError(f"metric: found 'roc_auc' for {classes} classes, allowed accuracy")
        return data.y.shape[1] if several else 1
    if several:
        raise ValueError("metric: found 'accuracy' for nodes with several labels, allowed roc_auc")
    return classes


def training_loss(logits: Tensor, data: Data, metric: str) -> Tensor:
    """Cross entropy over the training nodes; binary cross entropy, a mean over tasks too, where ROC-AUC judges.

    Args:
        logits: (N, C), one for each class or task.
        data: with y, (N,) classes, or labels 0 and 1, (N,) or (N, T); and train_mask.
        metric: one of :data:`METRICS`.
    """
    logits, y = logits[data.train_mask], data.y[data.train_mask]
    if metric == "roc_auc":
        return F.binary_cross_entropy_with_logits(logits, y.view_as(logits).to(logits.dtype))
    return F.cross_entropy(logits, y)


def score(logits: Tensor, data: Data, part: str, metric: str) -> float:
    """Accuracy or ROC-AUC on the nodes of ``part`` (train, val or test), a share in [0, 1].

    ROC-AUC is the mean over the tasks of which the part holds both labels, as the Open Graph Benchmark counts it.

    Raises:
        ValueError: ROC-AUC of a part that holds both labels of no task.
    """
    mask = data[f"{part}_mask"]
    if metric == "roc_auc":
        return _roc_auc(logits[mask], data.y[mask].view(-1, logits.shape[1]), part)
    return (logits[mask].argmax(dim=-1) == data.y[mask]).double().mean().item()


def _roc_auc(logits: Tensor, y: Tensor, part: str) -> float:
    # Weights that are not finite give no order; the next loss tells that the run has diverged.
    ranks, y = rankdata(torch.nan_to_num(logits).cpu(), axis=0), y.cpu().numpy()
    positive, negative = y.sum(axis=0), (1 - y).sum(axis=0)
    both = (positive > 0) & (negative > 0)
    if not both.any():
        raise ValueError(f"{part}_mask: found nodes of one label in every task, allowed both, which ROC-AUC needs")
    # How many pairs of a positive and a negative node are in order (Mann and Whitney), ties half.
    pairs = (ranks * y).sum(axis=0) - positive * (positive + 1) / 2
    return float((pairs[both] / (positive * negative)[both]).mean())
