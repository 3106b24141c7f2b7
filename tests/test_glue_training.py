"""GLUE runs: what is trained on and what judges, both rules of selection, and models that start as pre-trained."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from language_kit import own_cache, tiny_bert  # noqa: F401 (a fixture)
from wavy.data.glue import GlueData
from wavy.experiments.glue import GlueRun
from wavy.training import glue, glue_parts
from wavy.training.bert import pretrained_bert
from wavy.training.corpora import run_tokenizer
from wavy.training.glue_examples import GlueExamples

WORDS = ["the", "matrix", "returns", "a", "graph", "of", "all", "nodes", "and", "the", "sum", "its", "edges"]


def toy(task, split):
    """Sentences (pairs of them for mrpc and stsb) whose label depends on their first word."""
    count = 60 if split == "train" else 30
    rng = np.random.default_rng(len(split))
    texts = [" ".join(rng.choice(WORDS, size=rng.integers(3, 9))) for _ in range(count)]
    others = None if task == "cola" else texts[::-1]
    labels = np.array([float(text.startswith("the")) for text in texts])
    names = () if task == "stsb" else ("no", "yes")
    return GlueData(task, split, texts, others, labels if task == "stsb" else labels.astype(np.int64), names, "toy")


@pytest.fixture
def toys(own_cache, monkeypatch):  # noqa: F811
    monkeypatch.setattr(glue_parts, "load_glue", toy)


def tiny(task="mrpc", kind="light", **options):
    return GlueRun(dataset=task, pretraining=tiny_bert(kind), **{"epochs": 2, "length": 20, "lr": 1e-3} | options)


@pytest.mark.parametrize("task", ["cola", "mrpc", "stsb"])
def test_a_run_gives_the_same_row_again(task, toys):
    first, second = (glue.glue_metrics_of(tiny(task)) for _ in range(2))
    assert all(second[name] == value for name, value in first.items() if "seconds" not in name)
    scores = [first["score_1"], first["score_2"]]
    held = [first["held_score_1"], first["held_score_2"]]
    kept = int(np.argmax(held))
    assert (first["score"], first["held_score"], first["epoch"]) == (scores[kept], held[kept], kept + 1)
    assert first["score_best"] == max(scores)
    assert first["score_published"] == (min(scores) if task == "stsb" else max(scores))
    assert (first["inter_class_variance"] is None) == (task == "stsb")
    assert glue.glue_metrics_of(tiny(task, seed=1))["last_loss"] != first["last_loss"]


def told_by_a_word(task, split):
    """Sentences of which every other one has the word that the label asks for, somewhere after the first place."""
    count = 300 if split == "train" else 60
    rng = np.random.default_rng(len(split))
    words = [word for word in WORDS if word != "graph"]
    texts = [[*rng.choice(words, size=rng.integers(3, 7))] for _ in range(count)]
    for text in texts[::2]:
        text[rng.integers(1, len(text))] = "graph"
    labels = np.array(["graph" in text for text in texts], dtype=np.int64)
    return GlueData(task, split, [" ".join(text) for text in texts], None, labels, ("no", "yes"), "toy")


@pytest.mark.parametrize("kind", ["diffusion", "full"])
def test_a_fine_tuned_model_learns_what_a_label_depends_on(kind, own_cache, monkeypatch):  # noqa: F811
    monkeypatch.setattr(glue_parts, "load_glue", told_by_a_word)
    found = glue.glue_metrics_of(tiny("cola", kind, epochs=20, lr=3e-3))
    assert found["score"] > found["guess_score"] + 0.5


def test_a_run_whose_pretraining_diverges_has_diverged(toys):
    run = tiny().model_copy(update={"pretraining": tiny_bert("light", lr=1e30, clip=1e30)})
    assert glue.glue_metrics_of(run) == {"diverged": 1}


def test_the_parts_share_no_example(toys):
    parts = glue_parts.GlueParts(tiny(held_out=0.2))
    held, train = set(parts.held_out.indices), set(parts.train.indices)
    assert (len(held), len(train), len(held & train)) == (12, 48, 0)
    assert len(parts.validation) == 30
    fewer = glue_parts.GlueParts(tiny(train_limit=30))
    assert len(fewer.train) + len(fewer.held_out) == 30


def test_a_model_starts_as_pretrained_with_a_head_that_follows_the_seed(toys):
    run = tiny(kind="mix_full")
    model = glue.build_glue(run)
    trained = pretrained_bert(run.pretraining).bert.bert.state_dict()
    assert all(torch.equal(value, trained[name]) for name, value in model.bert.state_dict().items())
    other = glue.build_glue(tiny(kind="mix_full", seed=1))
    assert not torch.equal(model.classifier.weight, other.classifier.weight)
    assert glue.build_glue(tiny("stsb")).classifier.out_features == 1


def test_measures_keep_the_held_out_examples_apart():
    labels = torch.tensor([1, 0, 1, 0, 1])
    predicted = torch.tensor([1, 0, 0, 1, 1])
    measure = glue.task_of("rte", 2).measure
    assert measure(predicted, labels) == {"held_accuracy": 1.0, "accuracy": pytest.approx(1 / 3)}


def test_both_rules_of_selection_stand_side_by_side():
    both = {"pearson": [0.3, 0.5, 0.1], "spearman": [0.3, 0.5, 0.1]}
    held = {f"held_{name}": [0.2, 0.1, 0.4] for name in both}
    found = glue.selected("stsb", pd.DataFrame(both | held))
    assert (found["score"], found["epoch"], found["held_score"]) == (0.1, 3, 0.4)
    assert (found["score_best"], found["epoch_best"]) == (0.5, 2)
    assert (found["score_published"], found["epoch_published"]) == (0.1, 3)
    assert [found[f"score_{epoch}"] for epoch in (1, 2, 3)] == [0.3, 0.5, 0.1]


def test_the_guess_is_the_largest_class_or_the_mean_score():
    assert glue.largest_class(np.array([1, 0, 1]), 2) == 1
    assert glue.largest_class(np.array([1.0, 4.0]), 0) == 2.5


def test_a_batch_is_as_long_as_its_longest_example_and_pairs_are_told_apart():
    data = toy("mrpc", "train")
    examples = GlueExamples(data, run_tokenizer(tiny_bert()), 16, torch.float64)
    batch = examples.collate([examples[row] for row in (0, 1, 2)])
    lengths = batch["attention_mask"].sum(dim=1)
    assert lengths.max() == batch["input_ids"].shape[1] <= 16
    padding = batch["attention_mask"] == 0
    assert (batch["input_ids"][padding] == 0).all()
    assert (batch["input_ids"][~padding] != 0).all()
    for ids, types in zip(batch["input_ids"], batch["token_type_ids"], strict=True):
        first_end = (ids == run_tokenizer(tiny_bert()).sep_token_id).nonzero()[0, 0]
        assert (types[: first_end + 1] == 0).all()
        assert types[first_end + 1] == 1
    alike = examples.alike(5)
    assert len({len(examples.ids[row]) for row in alike}) == 1


def test_a_run_that_diverges_has_no_score(toys):
    found = glue.glue_metrics_of(tiny(lr=1e300, clip=1e300, warmup=0.0))
    assert (found["diverged"], found["last_loss"]) == (1, None)
    assert "score" not in found or found["score"] is None
    assert 0 < found["guess_score"] <= 1


def test_dropout_of_fine_tuning_is_its_own(toys):
    model = glue.build_glue(tiny(dropout=0.25))
    assert model.config.hidden_dropout_prob == 0.25
    assert tiny(dropout=0.25).pretraining.dropout == 0
