"""BERT's pre-training: masks of training and of evaluation, the two losses, and their measures."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

from language_kit import tiny_bert
from wavy.training.bert import build_bert, guesses, masked_pairs, pretraining_task, run_pairs
from wavy.training.masking import IGNORED
from wavy.training.pretraining import PretrainingTask


def batch_of(examples, rows=range(6)):
    return {name: torch.stack([examples[row][name] for row in rows]) for name in examples[0]}


def test_masks_are_new_in_training_and_fixed_in_evaluation():
    run = tiny_bert()
    train, valid = masked_pairs(run, "train"), masked_pairs(run, "valid")
    torch.manual_seed(0)
    drawn = [train[0]["labels"] for _ in range(4)]
    assert not all(torch.equal(drawn[0], other) for other in drawn)
    torch.manual_seed(0)
    assert torch.equal(train[0]["labels"], drawn[0])
    again = masked_pairs(tiny_bert("full", seed=5, depth=3, dropout=0.2), "valid")
    for row in range(len(valid)):
        assert all(torch.equal(value, again[row][name]) for name, value in valid[row].items())
    labels = torch.stack([valid[row]["labels"] for row in range(len(valid))])
    share = (labels != IGNORED).sum() / run_pairs(run, "valid").attention_mask.sum()
    assert 0.10 < share < 0.16


def test_no_more_sequences_are_evaluated_than_asked_for():
    assert len(run_pairs(tiny_bert(evaluated=3), "valid").input_ids) == 3
    assert len(run_pairs(tiny_bert(evaluated=3), "train").input_ids) > 100


def test_the_heads_see_the_masked_tokens_alone_and_lose_nothing():
    run = tiny_bert("full")
    model, batch = build_bert(run).eval(), batch_of(masked_pairs(run, "valid"))
    whole = {name: batch[name] for name in ("input_ids", "token_type_ids", "attention_mask")}
    stock = model.bert(**whole, labels=batch["labels"], next_sentence_label=batch["next_sentence_label"])
    predicted = batch["labels"] != IGNORED
    tokens, pairs = model(**whole, predicted=predicted)
    assert torch.allclose(tokens, stock.prediction_logits[predicted])
    assert torch.allclose(pairs, stock.seq_relationship_logits)
    # The library's loss is the mean over tokens plus the mean over pairs.
    task = PretrainingTask(nsp=True, predictions=1)
    total = predicted.sum() * F.cross_entropy(stock.prediction_logits[predicted], batch["labels"][predicted])
    total += len(pairs) * F.cross_entropy(stock.seq_relationship_logits, batch["next_sentence_label"])
    assert task.loss(model, batch).item() == pytest.approx(total.item())


def test_a_full_batch_weighs_tokens_and_pairs_alike():
    run = tiny_bert(evaluated=1000)
    model, examples, task = build_bert(run).eval(), masked_pairs(run, "valid"), pretraining_task(tiny_bert())
    full = [row for row in range(len(examples)) if examples[row]["attention_mask"].all()][:8]
    batch = batch_of(examples, full)
    assert task.weight(batch) == len(full) * task.predictions
    whole = {name: batch[name] for name in ("input_ids", "token_type_ids", "attention_mask")}
    stock = model.bert(**whole, labels=batch["labels"], next_sentence_label=batch["next_sentence_label"])
    assert task.loss(model, batch).item() / task.weight(batch) == pytest.approx(stock.loss.item())
    without = pretraining_task(tiny_bert(nsp=False))
    assert without.loss(model, batch) < task.loss(model, batch)


def test_measures_are_those_of_all_tokens_together():
    run = tiny_bert()
    model, examples, task = build_bert(run).eval(), masked_pairs(run, "valid"), pretraining_task(tiny_bert())
    with torch.no_grad():
        parts = [task.outputs(model, batch_of(examples, [row])) for row in range(6)]
        joined = {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
        batch = batch_of(examples)
        found, whole = task.metrics(joined), task.metrics(task.outputs(model, batch))
        predicted = batch["labels"] != IGNORED
        tokens, pairs = model(
            **{name: batch[name] for name in ("input_ids", "token_type_ids", "attention_mask")}, predicted=predicted
        )
    assert found == pytest.approx(whole)
    loss = F.cross_entropy(tokens, batch["labels"][predicted]).item()
    assert (found["loss"], found["perplexity"]) == (pytest.approx(loss), pytest.approx(math.exp(loss)))
    assert found["accuracy"] == pytest.approx((tokens.argmax(-1) == batch["labels"][predicted]).double().mean().item())
    right = pairs.argmax(-1) == batch["next_sentence_label"]
    assert found["nsp_accuracy"] == pytest.approx(right.double().mean().item())


def test_an_untrained_model_is_no_better_than_the_guess():
    run = tiny_bert()
    examples = masked_pairs(run, "valid")
    found = guesses(run, examples)
    assert 1 < found["perplexity"] < run.vocab_size
    assert 0.5 <= found["nsp_accuracy"] <= 1
    with torch.no_grad():
        task = pretraining_task(run)
        scores = task.metrics(task.outputs(build_bert(run).eval(), batch_of(examples, range(len(examples)))))
    assert scores["perplexity"] > found["perplexity"]
