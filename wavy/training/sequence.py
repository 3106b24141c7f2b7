"""Classification of token sequences: mini-batches, one learning-rate cycle, selection by validation accuracy."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

import pandas as pd
import torch
import torch.nn.functional as F
from torch import Tensor, nn

#: Shares of the examples that are for training and validation; the rest is for testing.
TRAIN, VALIDATION = 2 / 3, 1 / 6


@dataclass(frozen=True)
class SequenceData:
    """Token sequences (B, N, channels) with their classes (B,), and the rows (indices) of each part."""

    tokens: Tensor
    labels: Tensor
    parts: dict[str, Tensor]

    def part(self, name: str) -> tuple[Tensor, Tensor]:
        """Tokens and classes of ``train``, ``val`` or ``test``."""
        rows = self.parts[name]
        return self.tokens[rows], self.labels[rows]


@dataclass
class SequenceFit:
    """What one training run found. ``model`` holds the weights of the selected epoch, in eval mode.

    ``metrics``: val_accuracy, test_accuracy and train_accuracy of the selected epoch (shares in [0, 1]), best_epoch,
    diverged (1 where the loss stopped being finite).
    ``history``: one row an epoch: epoch, loss (mean over the batches), val_accuracy.
    """

    model: nn.Module
    data: SequenceData
    metrics: dict[str, float]
    history: pd.DataFrame


def split(tokens: Tensor, labels: Tensor, seed: int) -> SequenceData:
    """Draw the rows of train, val and test at random; the same seed gives the same split for every model."""
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed))
    first, second = int(TRAIN * len(labels)), int((TRAIN + VALIDATION) * len(labels))
    parts = {"train": order[:first], "val": order[first:second], "test": order[second:]}
    return SequenceData(tokens, labels, parts)


def fit_sequence_classifier(
    model: nn.Module, data: SequenceData, *, epochs: int, batch_size: int, lr: float, weight_decay: float
) -> SequenceFit:
    """Train with AdamW, cross entropy and one learning-rate cycle; keep the first epoch of the highest val accuracy.

    Test accuracy is computed once, for the epoch that validation selected. Batches follow torch's global seed.

    Args:
        model: a module called as ``model(tokens) -> logits (B, C)``.
        data: see :class:`SequenceData`.
        epochs: passes over the training part.
        batch_size: examples a step; the last batch may be smaller.
        lr: the highest learning rate of the cycle.
        weight_decay: AdamW's.

    Returns:
        A :class:`SequenceFit`.
    """
    rows = data.parts["train"]
    steps = math.ceil(len(rows) / batch_size)
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=weight_decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, lr, epochs=epochs, steps_per_epoch=steps)
    best, history, diverged = (-1.0, 0, copy.deepcopy(model.state_dict())), [], 0
    for epoch in range(1, epochs + 1):
        model.train()
        losses = []
        for batch in rows[torch.randperm(len(rows))].split(batch_size):
            loss = F.cross_entropy(model(data.tokens[batch]), data.labels[batch])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        mean_loss = sum(losses) / len(losses)
        if not math.isfinite(mean_loss):
            diverged = 1
            break
        row = {"epoch": epoch, "loss": mean_loss, "val_accuracy": accuracy(model, data, "val")}
        history.append(row)
        if row["val_accuracy"] > best[0]:
            best = (row["val_accuracy"], epoch, copy.deepcopy(model.state_dict()))
    model.load_state_dict(best[2])
    metrics = {f"{part}_accuracy": accuracy(model, data, part) for part in ("train", "val", "test")}
    metrics |= {"best_epoch": best[1], "diverged": diverged}
    return SequenceFit(model.eval(), data, metrics, pd.DataFrame(history))


@torch.no_grad()
def accuracy(model: nn.Module, data: SequenceData, part: str) -> float:
    """Share of the examples of ``part`` (train, val or test) whose class is predicted right, in eval mode."""
    tokens, labels = data.part(part)
    return (model.eval()(tokens).argmax(dim=-1) == labels).double().mean().item()
