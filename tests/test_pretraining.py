"""BERT's pre-training: masks of training and of evaluation, the two losses, and their measures."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

from language_kit import tiny_bert
from wavy.data.text.unigram import unigram_probabilities
from wavy.training.bert import build_bert, pretraining_task
from wavy.training.bert_text import READ, guesses, masked_pairs, run_pairs
from wavy.training.corpora import run_tokenizer
from wavy.training.masking import IGNORED
from wavy.training.pretraining import PretrainingTask


def batch_of(examples, rows=range(6)):
    return {name: torch.stack([examples[row][name] for row in rows]) for name in examples[0]}


def test_masks_are_new_in_training_and_fixed_in_evaluation():
    run = tiny_bert()
    train, valid = masked_pairs(run, "train"), masked_pairs(run, "valid")
    torch.manual_seed(0)
    drawn = [train.collate([train[0]])["labels"] for _ in range(4)]
    assert not all(torch.equal(drawn[0], other) for other in drawn)
    torch.manual_seed(0)
    assert torch.equal(train.collate([train[0]])["labels"], drawn[0])
    again = masked_pairs(tiny_bert("full", seed=5, depth=3, dropout=0.2), "valid")
    for row in range(len(valid)):
        assert all(torch.equal(value, again[row][name]) for name, value in valid[row].items())
    labels = torch.stack([valid[row]["labels"] for row in range(len(valid))])
    share = (labels != IGNORED).sum() / (READ * run_pairs(run, "valid").attention_mask.sum())
    assert 0.10 < share < 0.16


def test_masks_of_a_batch_are_those_of_its_sequences_alone():
    train = masked_pairs(tiny_bert(masked=0.5), "train")
    rows = (5, 0, 7)
    torch.manual_seed(1)
    batch = train.collate([train[row] for row in rows])
    torch.manual_seed(1)
    alone = [train.masking(train.pairs.input_ids[row][None], torch.default_generator) for row in rows]
    assert torch.equal(batch["input_ids"], torch.cat([inputs for inputs, _ in alone]))
    assert torch.equal(batch["labels"], torch.cat([labels for _, labels in alone]))
    assert not torch.equal(batch["input_ids"], train.pairs.input_ids[list(rows)])
    assert set(batch) == set(masked_pairs(tiny_bert(), "valid").collate([masked_pairs(tiny_bert(), "valid")[0]]))


def test_each_pair_is_read_several_times_with_other_masks():
    run = tiny_bert(evaluated=3)
    examples = masked_pairs(run, "test")
    assert len(examples) == 3 * READ
    labels = examples.fixed[1].view(READ, 3, -1)
    assert len({tuple(labels[time, 0].tolist()) for time in range(READ)}) > 1
    task = pretraining_task(run)
    scores = task.metrics(task.outputs(build_bert(run).eval(), batch_of(examples, range(len(examples)))))
    assert scores["tokens"] == (labels != IGNORED).sum() > scores["hidden_tokens"] > 0


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
    task = PretrainingTask(nsp=True, mask_id=run_tokenizer(run).mask_token_id, predictions=1)
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
    hidden = batch["input_ids"][predicted] == run_tokenizer(run).mask_token_id
    assert 0.5 < hidden.double().mean() < 1
    loss = F.cross_entropy(tokens[hidden], batch["labels"][predicted][hidden]).item()
    assert (found["hidden_loss"], found["hidden_perplexity"]) == (pytest.approx(loss), pytest.approx(math.exp(loss)))


def test_a_model_that_copies_what_it_sees_has_read_no_context():
    """It beats the unigrams of all predicted tokens, and not those of the hidden ones."""
    run = tiny_bert(evaluated=1000)
    examples, train = masked_pairs(run, "valid"), run_pairs(run, "train")
    tokenizer, found = run_tokenizer(run), guesses(run, examples)
    mask, size = tokenizer.mask_token_id, len(tokenizer)
    unigrams = unigram_probabilities(train.input_ids, size, tokenizer.all_special_ids)
    at_place = {}
    for ids, types in zip(train.input_ids.tolist(), train.token_type_ids.tolist(), strict=True):
        for place, (token, span) in enumerate(zip(ids, types, strict=True)):
            if token not in tokenizer.all_special_ids:
                at_place.setdefault((place, span), torch.zeros(size, dtype=torch.float64))[token] += 1

    def frequencies(place, span):
        counts = at_place.get((place, span), torch.zeros(size))
        types = max(int((counts > 0).sum()), 1)
        return (counts + types * unigrams) / (counts.sum() + types)

    class Copy(torch.nn.Module):
        def forward(self, input_ids, token_type_ids, attention_mask, predicted):
            shown, places = input_ids[predicted], predicted.nonzero()[:, 1].tolist()
            spans = token_type_ids[predicted].tolist()
            prior = torch.stack([frequencies(*at) for at in zip(places, spans, strict=True)])
            seen = 0.1 * F.one_hot(shown, size) + 0.1 / (unigrams > 0).sum()
            likely = torch.where((shown == mask)[:, None], prior, prior * seen)
            return (likely / likely.sum(dim=1, keepdim=True)).log(), torch.zeros(len(predicted), 2)

    task = pretraining_task(run)
    scores = task.metrics(task.outputs(Copy(), batch_of(examples, range(len(examples)))))
    assert scores["perplexity"] == pytest.approx(found["no_context_perplexity"])
    assert scores["perplexity"] < 0.8 * found["perplexity"]
    assert scores["hidden_perplexity"] == pytest.approx(found["hidden_place_perplexity"])
    assert scores["hidden_accuracy"] == pytest.approx(found["hidden_place_accuracy"])


def test_no_masked_token_gives_no_measure():
    task = PretrainingTask(nsp=True, mask_id=4, predictions=1)
    empty = {name: torch.zeros(3) for name in ("loss", "right", "tokens")}
    sums = empty | {f"hidden_{name}": value for name, value in empty.items()} | {"pairs": torch.ones(3)}
    assert task.metrics(sums)["hidden_perplexity"] is None
    assert task.metrics(sums)["nsp_accuracy"] == 1


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


@pytest.mark.parametrize("options", [{"masked": 0.01}, {"length": 6}])
def test_pairs_count_however_few_tokens_are_masked(options):
    assert pretraining_task(tiny_bert(**options)).predictions == 1
