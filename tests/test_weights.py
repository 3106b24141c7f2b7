"""Weights in the cache only save time: what is damaged, foreign or cannot be written is told, and trained again."""

from __future__ import annotations

import os
import threading

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from language_kit import own_cache, tiny_bert  # noqa: F401 (a fixture)
from wavy.training import bert, weights
from wavy.training.bert import build_bert, pretrained_bert, train_bert
from wavy.training.bert_metrics import bert_metrics
from wavy.training.weights import keep_weights, load_weights, save_weights, weights_file

RUN = tiny_bert("light")


@pytest.fixture
def unwritable(tmp_path, monkeypatch):
    """A cache in which no folder can be made, whoever asks."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("WAVY_CACHE", str(tmp_path / "file"))


def _same(one, other):
    return all(torch.equal(value, other.state_dict()[name]) for name, value in one.state_dict().items())


def test_a_cache_that_cannot_be_written_costs_no_row(unwritable, caplog):
    assert bert_metrics(RUN)["val_loss"] > 0
    assert "could not be stored" in caplog.text


def test_a_cache_that_cannot_be_written_costs_no_model(unwritable, caplog):
    assert _same(pretrained_bert(RUN), train_bert(RUN).model)
    assert "no lock" in caplog.text


def test_weights_that_diverged_are_not_kept(own_cache):  # noqa: F811
    found = train_bert(RUN)
    found.metrics["diverged"] = 1
    keep_weights(found, RUN)
    assert not weights_file(RUN).exists()
    assert [file.suffix for file in own_cache.rglob("*") if file.is_file()] == [".diverged"]
    found.metrics["diverged"] = 0
    keep_weights(found, RUN)
    assert load_weights(build_bert(RUN), RUN)


def _truncated(file):
    os.truncate(file, file.stat().st_size // 2)


def _emptied(file):
    file.write_bytes(b"")


def _foreign(file):
    save_file(nn.Linear(2, 2).state_dict(), file)


def _partly_foreign(file):
    tensors = {name: value + 1 for name, value in load_file(file).items()}
    save_file(tensors | {"bert.cls.seq_relationship.bias": torch.zeros(7)}, file)


@pytest.mark.parametrize("harm", [_truncated, _emptied, _foreign, _partly_foreign])
def test_useless_files_are_trained_again_and_replaced(harm, own_cache, caplog):  # noqa: F811
    trained = pretrained_bert(RUN)
    harm(weights_file(RUN))
    model = build_bert(RUN)
    assert not load_weights(model, RUN)
    assert str(weights_file(RUN)) in caplog.text
    assert "\n" not in caplog.messages[-1]
    assert _same(model, build_bert(RUN))
    assert _same(pretrained_bert(RUN), trained)
    assert load_weights(model, RUN)


def test_weights_for_another_vocabulary_are_passed_by(own_cache, monkeypatch, caplog):  # noqa: F811
    save_weights(build_bert(RUN), RUN)
    other = weights.run_tokenizer(tiny_bert(limit=100_000))
    assert len(other) == len(weights.run_tokenizer(RUN))
    monkeypatch.setattr(weights, "run_tokenizer", lambda run: other)
    assert not load_weights(build_bert(RUN), RUN)
    assert "vocabulary: found another one" in caplog.text


def test_weights_of_a_model_that_diverged_are_passed_by(own_cache, caplog):  # noqa: F811
    model = build_bert(RUN)
    before = build_bert(RUN)
    with torch.no_grad():
        next(model.parameters())[0] = torch.nan
    save_weights(model, RUN)
    assert not load_weights(before, RUN)
    assert "found a number that is not finite" in caplog.text
    assert _same(before, build_bert(RUN))


def test_files_of_earlier_versions_load(own_cache):  # noqa: F811
    save_weights(build_bert(RUN), RUN)
    save_file(load_file(weights_file(RUN)), weights_file(RUN))
    assert load_weights(build_bert(RUN), RUN)


def test_two_that_need_one_pretraining_train_it_once(own_cache, monkeypatch):  # noqa: F811
    trained, began = [], threading.Event()

    def train(run, device):
        began.set()
        trained.append(run)
        second.join(0.5)  # time for the other, which waits
        return train_bert(run, device)

    monkeypatch.setattr(bert, "train_bert", train)
    second = threading.Thread(target=lambda: began.wait() and pretrained_bert(RUN))
    second.start()
    pretrained_bert(RUN)
    second.join()
    assert trained == [RUN]
