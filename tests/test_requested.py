"""What the environment asks of every training: a log, and smaller micro-batches, with the same results."""

import pytest
import torch

pytest.importorskip("accelerate")
pytest.importorskip("transformers")
pytest.importorskip("tensorboard")

from launched_sweep import runs
from wavy.results import run_hash
from wavy.training.bert import build_bert, pretraining_task, train_bert
from wavy.training.bert_text import masked_pairs
from wavy.training.clock import calls_a_step, round_starts
from wavy.training.language import measured
from wavy.training.loop import Recipe, Setup
from wavy.training.requested import requested_setup

RUN = runs()[0]


def test_nothing_is_asked_for_where_nothing_is_set(monkeypatch):
    for name in ("WAVY_LOG_DIR", "WAVY_MICRO_BATCH_SIZE"):
        monkeypatch.delenv(name, raising=False)
    setup = requested_setup(RUN, "cpu", keep=3)
    assert (setup.log_dir, setup.micro_batch_size, setup.keep) == (None, None, 3)


def test_a_run_is_logged_and_passed_in_parts_with_the_same_losses(monkeypatch, tmp_path):
    plain = train_bert(RUN).history
    monkeypatch.setenv("WAVY_LOG_DIR", str(tmp_path))
    monkeypatch.setenv("WAVY_MICRO_BATCH_SIZE", "3")
    assert requested_setup(RUN, "cpu").micro_batch_size == 3
    assert train_bert(RUN).history["loss"].tolist() == pytest.approx(plain["loss"].tolist(), rel=1e-6)
    assert list((tmp_path / f"bert-{run_hash(RUN)}").rglob("events.out.tfevents.*"))


def test_measuring_passes_no_more_at_once_than_training(monkeypatch):
    monkeypatch.setenv("WAVY_MICRO_BATCH_SIZE", "3")
    model, sizes = build_bert(RUN), set()
    model.register_forward_pre_hook(lambda _, args, kwargs: sizes.add(len(kwargs["input_ids"])), with_kwargs=True)
    measured(model, pretraining_task(RUN), masked_pairs(RUN, "valid"), RUN, "cpu")
    assert max(sizes) == 3


def test_a_step_of_several_parts_is_one_step_of_the_clock(monkeypatch):
    recipe = Recipe(steps=4, batch_size=8, lr=1e-3)
    assert [calls_a_step(recipe, Setup(micro_batch_size=size)) for size in (None, 3, 4, 9)] == [1, 3, 2, 1]
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert [calls_a_step(recipe, Setup(micro_batch_size=size)) for size in (None, 3)] == [1, 2]
    model = torch.nn.Linear(2, 2)
    with round_starts(model, 3) as starts:
        for _ in range(7):
            model(torch.ones(1, 2))
    assert len(starts) == 3


@pytest.mark.parametrize(
    ("name", "value"), [("WAVY_MICRO_BATCH_SIZE", "0"), ("WAVY_MICRO_BATCH_SIZE", "half"), ("WAVY_LOG_DIR", "logs")]
)
def test_a_wrong_value_is_named(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=f"{name}.*found '{value}'"):
        requested_setup(RUN, "cpu")
