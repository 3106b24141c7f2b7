"""One run of GLUE: fine-tune a pre-trained BERT on a task, and judge it by two rules of selection."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import ConcatDataset

from wavy.data.glue import TASKS
from wavy.diagnostics import class_variances, layer_profile
from wavy.experiments.glue import GlueRun
from wavy.results import run_hash
from wavy.training.bert import bert_config, pretrained_bert
from wavy.training.bert_metrics import DIAGNOSED
from wavy.training.device import check_device
from wavy.training.glue_parts import GlueParts
from wavy.training.glue_scores import METRICS, glue_metrics, glue_score, selected_epoch
from wavy.training.language import timed_fit
from wavy.training.loop import ClassTask, NumberTask, Recipe, Task
from wavy.training.precision import mixed_precision, seeded
from wavy.training.requested import requested_setup
from wavy.training.trained_state import attention_measures, state_measures
from wavy.training.weights import DivergedError


def build_glue(run: GlueRun, device: str = "cpu") -> nn.Module:
    """The model before fine-tuning: the encoder as pre-trained, the head new.

    A pre-training that is not in the cache is done first.

    Raises:
        wavy.training.weights.DivergedError: the pre-training diverges.
    """
    from wavy.hosts.bert import WavyBertForSequenceClassification  # noqa: PLC0415 (an extra)

    outputs = len(TASKS[run.dataset].label_names) or 1
    config = bert_config(run.pretraining.model_copy(update={"dropout": run.dropout}), num_labels=outputs)
    model = seeded(lambda: WavyBertForSequenceClassification(config), run.seed, run.precision)
    model.bert.load_state_dict(pretrained_bert(run.pretraining, device).bert.bert.state_dict())
    return model.to(device)


def glue_metrics_of(run: GlueRun, device: str = "cpu") -> dict[str, float | None]:
    """The metrics of one run, for :func:`wavy.sweep.sweep`.

    After each epoch the model is judged on the held-out part of the training data (``held_score_1``, ...) and on the
    official validation data (``score_1``, ...). ``score`` is that of the validation data at the epoch that the held-out
    part selects (``epoch``). ``score_best`` and ``score_published`` are selected and read on the validation data,
    by the rules of :func:`wavy.training.glue_scores.selected_epoch`. ``guess_score`` is that of always naming the
    largest class. The diagnosis is that of the last epoch: of the last state of validation examples of one length,
    and ``inter_class_variance``, the variance between the class means of the [CLS] states of all, and its share of
    the whole. A run whose pre-training diverges has diverged, and has no other metric.
    """
    check_device(device)
    parts = GlueParts(run)
    try:
        model = build_glue(run, device)
    except DivergedError:
        return {"diverged": 1}
    a_epoch = math.ceil(len(parts.train) / run.batch_size)
    recipe = Recipe(
        steps=run.epochs * a_epoch,
        batch_size=run.batch_size,
        lr=run.lr,
        weight_decay=run.weight_decay,
        warmup=int(run.warmup * run.epochs * a_epoch),
        clip=run.clip,
        precision=mixed_precision(run.precision),
        seed=run.seed,
    )
    judged = ConcatDataset([parts.held_out, parts.validation])
    task = task_of(run.dataset, len(parts.held_out))
    setup = requested_setup(run, device, evaluate_every=a_epoch)
    found = timed_fit(
        model, task, parts.train, recipe, setup,
        validation=judged, collate=parts.collate, params_hash=run_hash(run),
    )  # fmt: skip
    guess = np.full(len(parts.validation), largest_class(parts.train_labels, parts.classes))
    metrics = dict(found.metrics)
    metrics["guess_score"] = glue_score(run.dataset, glue_metrics(run.dataset, guess, parts.validation_data.labels))
    if metrics["diverged"]:
        return metrics
    return metrics | selected(run.dataset, found.evaluations) | diagnosis(model, parts, run, device)


def task_of(name: str, held: int) -> Task:
    """What a task is judged by: its metrics on the first ``held`` examples (``held_``) and on the others."""

    def measure(predicted: Tensor, labels: Tensor) -> dict[str, float]:
        first, rest = slice(None, held), slice(held, None)
        ours = {f"held_{metric}": value for metric, value in _judge(name, predicted[first], labels[first]).items()}
        return ours | _judge(name, predicted[rest], labels[rest])

    return NumberTask(measure) if name == "stsb" else ClassTask(measure)


def _judge(name: str, predicted: Tensor, labels: Tensor) -> dict[str, float]:
    return glue_metrics(name, predicted.cpu().numpy(), labels.cpu().numpy())


def largest_class(labels: np.ndarray, classes: int) -> float:
    """What to name always: the largest class of the training labels, or the mean of the scores."""
    return np.bincount(labels).argmax() if classes else labels.mean()


def selected(name: str, evaluations: object) -> dict[str, float]:
    """The scores of all epochs, and of those that each rule keeps."""
    epochs = evaluations.to_dict("records")
    held = [{metric: row[f"held_{metric}"] for metric in METRICS[name]} for row in epochs]
    scores, held_scores = ([glue_score(name, row) for row in rows] for rows in (epochs, held))
    kept = selected_epoch(name, held, "best")
    metrics = {"score": scores[kept], "held_score": held_scores[kept], "epoch": kept + 1}
    metrics |= {metric: epochs[kept][metric] for metric in METRICS[name]}
    for rule in ("best", "published"):
        epoch = selected_epoch(name, epochs, rule)
        metrics |= {f"score_{rule}": scores[epoch], f"epoch_{rule}": epoch + 1}
    for number, pair in enumerate(zip(scores, held_scores, strict=True), start=1):
        metrics |= dict(zip((f"score_{number}", f"held_score_{number}"), pair, strict=True))
    return metrics


@torch.no_grad()
def diagnosis(model: nn.Module, parts: GlueParts, run: GlueRun, device: str) -> dict[str, float | None]:
    """Measures of the fine-tuned model on validation examples; no class variances of a task without classes."""
    validation = parts.validation
    batch = parts.collate([validation[index] for index in validation.alike(DIAGNOSED)])
    inputs = {name: values.to(device) for name, values in batch.items() if name != "labels"}
    blocks = [model.bert.embeddings, *model.bert.encoder.layer]
    measures = state_measures(layer_profile(model.bert, blocks=blocks, **inputs))
    measures |= attention_measures(model.bert, inputs, run.tau)
    between = within = None
    if parts.classes:
        states = []
        for start in range(0, len(validation), run.batch_size):
            rows = range(start, min(start + run.batch_size, len(validation)))
            batch = parts.collate([validation[index] for index in rows])
            batch = {name: values.to(device) for name, values in batch.items() if name != "labels"}
            states.append(model.bert(**batch).last_hidden_state[:, 0].double().cpu())
        between, within = (value.item() for value in class_variances(torch.cat(states), validation.labels))
    share = between and between / (between + within)
    return measures | {"inter_class_variance": between, "inter_class_share": share}
