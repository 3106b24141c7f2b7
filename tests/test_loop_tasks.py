"""The losses and measures of tokens, classes and numbers are those of the libraries."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

transformers = pytest.importorskip("transformers")

from language_models import BERT, GPT2, families  # noqa: E402
from wavy.training.loop import ClassTask, NumberTask, TokenTask  # noqa: E402


def _tokens():
    ids = torch.arange(24).view(4, 6) % 11 + 3
    labels = ids.masked_fill(torch.arange(6) < torch.tensor([[0], [2], [5], [6]]), -100)
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": labels}


@families
def test_loss_over_weight_is_the_models_own_loss(family):
    task, model, batch = TokenTask(causal=family is GPT2), family.fixed("light"), _tokens()
    mean = task.loss(model, batch) / task.weight(batch)
    assert mean.item() == pytest.approx(model(**batch).loss.item(), rel=1e-6)  # GPT-2's is in single precision


@families
def test_tokens_are_measured_over_all_that_have_a_label(family):
    causal = family is GPT2
    task, model, batch = TokenTask(causal), family.fixed("light"), _tokens()
    outputs = task.outputs(model, batch)
    assert {len(values) for values in outputs.values()} == {4}
    logits, labels = model(input_ids=batch["input_ids"]).logits, batch["labels"]
    if causal:
        logits, labels = logits[:, :-1], labels[:, 1:]
    counted = labels != -100
    loss = F.cross_entropy(logits[counted], labels[counted])
    accuracy = (logits[counted].argmax(-1) == labels[counted]).double().mean()
    assert task.metrics(outputs) == pytest.approx(
        {"loss": loss.item(), "perplexity": loss.exp().item(), "accuracy": accuracy.item()}
    )


def test_parts_of_a_batch_add_up():
    task, model, batch = TokenTask(causal=False), BERT.fixed("full"), _tokens()
    parts = [{name: values[rows] for name, values in batch.items()} for rows in (slice(0, 1), slice(1, 4))]
    assert torch.allclose(sum(task.loss(model, part) for part in parts), task.loss(model, batch))
    assert sum(task.weight(part) for part in parts) == task.weight(batch) == 11


def test_a_part_without_labels_adds_nothing():
    task, model, batch = TokenTask(causal=False), BERT.fixed("full"), _tokens()
    empty = {name: values[3:] for name, values in batch.items()}
    assert task.weight(empty) == 0
    assert task.loss(model, empty) == 0


def test_causal_tokens_have_no_label_from_the_next_sequence():
    batch = _tokens()
    moved = batch | {"labels": batch["labels"].clone()}
    moved["labels"][:, 0] = 5
    model, task = GPT2.fixed("light"), TokenTask(causal=True)
    assert task.loss(model, moved) == task.loss(model, batch)


@pytest.fixture
def flat():
    torch.manual_seed(1)
    return nn.Linear(4, 3), {"input": torch.randn(5, 4), "labels": torch.tensor([0, 2, 1, 1, 0])}


def test_classes(flat):
    model, batch = flat
    task = ClassTask()
    logits = model(batch["input"])
    assert torch.allclose(task.loss(model, batch) / task.weight(batch), F.cross_entropy(logits, batch["labels"]))
    measured = task.metrics(task.outputs(model, batch))
    right = (logits.argmax(1) == batch["labels"]).double().mean().item()
    assert measured == pytest.approx({"loss": F.cross_entropy(logits, batch["labels"]).item(), "accuracy": right})


def test_smoothing_concerns_the_loss_alone(flat):
    model, batch = flat
    plain, smooth = ClassTask(), ClassTask(smoothing=0.1)
    shares = F.one_hot(batch["labels"], 3) * 0.9 + 0.1 / 3
    assert torch.allclose(smooth.loss(model, batch), plain.loss(model, batch | {"labels": shares}))
    assert smooth.metrics(smooth.outputs(model, batch)) == plain.metrics(plain.outputs(model, batch))


def test_a_measure_of_ones_own(flat):
    model, batch = flat
    task = ClassTask(lambda predicted, labels: {"zeros": int((labels == 0).sum()) + 0.0 * len(predicted)})
    assert task.metrics(task.outputs(model, batch))["zeros"] == 2


def test_numbers():
    model = nn.Linear(4, 1)
    batch = {"input": torch.randn(5, 4), "labels": torch.randn(5)}
    task = NumberTask(lambda predicted, labels: {"largest": (predicted - labels).abs().max().item()})
    error = model(batch["input"])[:, 0] - batch["labels"]
    assert torch.allclose(task.loss(model, batch), (error**2).sum())
    measured = task.metrics(task.outputs(model, batch))
    assert measured == pytest.approx({"loss": (error**2).mean().item(), "largest": error.abs().max().item()})


def test_classes_of_transformers_and_timm_alike():
    from loop_kit import bert, deit  # noqa: PLC0415
    from wavy.hosts.bert import WavyBertForSequenceClassification  # noqa: PLC0415

    images = {"x": torch.randn(2, 3, 16, 16), "labels": torch.tensor([1, 0])}
    words = {"input_ids": torch.full((2, 6), 4), "labels": torch.tensor([1, 0])}
    pairs = [(deit("light"), images), (WavyBertForSequenceClassification(bert("light").config), words)]
    for model, batch in pairs:
        assert ClassTask().outputs(model, batch)["predicted"].shape == (2,)


def test_data_without_a_label_have_no_measures():
    outputs = {name: torch.zeros(3) for name in ("loss", "right", "tokens")}
    with pytest.raises(ValueError, match=r"^labels: found none in the data that are evaluated, allowed at least"):
        TokenTask(causal=False).metrics(outputs)
