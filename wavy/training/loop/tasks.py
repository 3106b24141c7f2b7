"""What a batch is to be judged by: tokens, classes or numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import torch.nn.functional as F
from torch import Tensor, nn

from wavy.training.masking import IGNORED

Batch = Mapping[str, Any]
Measure = Callable[[Tensor, Tensor], dict[str, float]]


class Task(Protocol):
    """What the loop must know of a task."""

    def weight(self, batch: Any) -> float:
        """How many losses of single tokens or examples are added up in :meth:`loss`. Called on the CPU."""

    def loss(self, model: nn.Module, batch: Any) -> Tensor:
        """Their sum, a scalar. Not the mean: the loop divides by the number in the whole step."""

    def outputs(self, model: nn.Module, batch: Any) -> dict[str, Tensor]:
        """What evaluation needs of each example: name -> (B, ...), in the order of the batch."""

    def metrics(self, outputs: dict[str, Tensor]) -> dict[str, float]:
        """Measures of a whole data set, from the outputs of all its examples in their order."""


def logits_of(model: nn.Module, batch: Batch) -> Tensor:
    """Call a model with all of a batch but its labels, by name: ``x`` for timm, ``input_ids`` and so on; its logits."""
    output = model(**{name: value for name, value in batch.items() if name != "labels"})
    return output if isinstance(output, Tensor) else output.logits


class TokenTask:
    """Predict tokens: masked ones (MLM), or the next one (CLM).

    A batch holds the model's inputs by name and ``labels`` (B, N), -100 where nothing is to be predicted. Evaluation
    gives ``loss`` (nats a token), ``perplexity`` and ``accuracy``, each over all tokens with a label.

    Args:
        causal: the logits at a token predict the label of the next one.
    """

    def __init__(self, causal: bool) -> None:
        self.causal = causal

    def weight(self, batch: Batch) -> float:
        return float((self._labels(batch) != IGNORED).sum())

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        return _token_losses(logits_of(model, batch), self._labels(batch), "sum")

    def outputs(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        logits, labels = logits_of(model, batch), self._labels(batch)
        counted = labels != IGNORED
        right = (logits.argmax(dim=-1) == labels) & counted
        return {
            "loss": _token_losses(logits, labels, "none").view_as(labels).sum(dim=1),
            "tokens": counted.sum(dim=1),
            "right": right.sum(dim=1),
        }

    def metrics(self, outputs: dict[str, Tensor]) -> dict[str, float]:
        tokens = _labelled(outputs["tokens"])
        loss = outputs["loss"].double().sum() / tokens
        accuracy = outputs["right"].sum().item() / tokens
        return {"loss": loss.item(), "perplexity": loss.exp().item(), "accuracy": accuracy}

    def _labels(self, batch: Batch) -> Tensor:
        labels = batch["labels"]
        # Labels move, not logits: these are the largest tensor of all, and would be copied.
        return F.pad(labels[:, 1:], (0, 1), value=IGNORED) if self.causal else labels


def _labelled(tokens: Tensor) -> int:
    """How many tokens of a data set have a label, from their numbers by example; ValueError where none has."""
    if not (number := tokens.sum().item()):
        raise ValueError("labels: found none in the data that are evaluated, allowed at least one")
    return number


def _token_losses(logits: Tensor, labels: Tensor, reduction: str) -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORED, reduction=reduction)


class ClassTask:
    """Predict a class: of an image, a sentence or a pair of them.

    A batch holds the model's inputs by name and ``labels``: (B,) class numbers, or (B, C) shares of the classes, as
    mixup makes them.

    Args:
        measure: of predicted classes (B,) and labels (B,), for instance a metric of GLUE; ``None`` for accuracy.
        smoothing: share of each label that is spread over all classes, in the loss alone.
    """

    def __init__(self, measure: Measure | None = None, smoothing: float = 0.0) -> None:
        self.measure, self.smoothing = measure or _accuracy, smoothing

    def weight(self, batch: Batch) -> float:
        return len(batch["labels"])

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        logits = logits_of(model, batch)
        return F.cross_entropy(logits, batch["labels"], reduction="sum", label_smoothing=self.smoothing)

    def outputs(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        logits = logits_of(model, batch)
        losses = F.cross_entropy(logits, batch["labels"], reduction="none")
        return {"loss": losses, "predicted": logits.argmax(dim=-1), "labels": batch["labels"]}

    def metrics(self, outputs: dict[str, Tensor]) -> dict[str, float]:
        return {"loss": outputs["loss"].double().mean().item()} | self.measure(outputs["predicted"], outputs["labels"])


class NumberTask:
    """Predict a number, by the squared error: the similarity of two sentences.

    A batch holds the model's inputs by name and ``labels`` (B,); the model gives logits (B, 1).

    Args:
        measure: of predicted numbers (B,) and labels (B,), for instance their correlation; ``None`` for none.
    """

    def __init__(self, measure: Measure | None = None) -> None:
        self.measure = measure or (lambda predicted, labels: {})

    def weight(self, batch: Batch) -> float:
        return len(batch["labels"])

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        return F.mse_loss(logits_of(model, batch).squeeze(-1), batch["labels"], reduction="sum")

    def outputs(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        return {"predicted": logits_of(model, batch).squeeze(-1), "labels": batch["labels"]}

    def metrics(self, outputs: dict[str, Tensor]) -> dict[str, float]:
        predicted, labels = outputs["predicted"], outputs["labels"]
        error = F.mse_loss(predicted.double(), labels.double())
        return {"loss": error.item()} | self.measure(predicted, labels)


def _accuracy(predicted: Tensor, labels: Tensor) -> dict[str, float]:
    return {"accuracy": (predicted == labels).double().mean().item()}
