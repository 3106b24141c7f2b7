"""What the environment asks of every training: a log, and smaller micro-batches, with the same results."""

import pytest

pytest.importorskip("accelerate")
pytest.importorskip("transformers")
pytest.importorskip("tensorboard")

from launched_sweep import runs
from wavy.results import run_hash
from wavy.training.bert import train_bert
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


@pytest.mark.parametrize(
    ("name", "value"), [("WAVY_MICRO_BATCH_SIZE", "0"), ("WAVY_MICRO_BATCH_SIZE", "half"), ("WAVY_LOG_DIR", "logs")]
)
def test_a_wrong_value_is_named(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=f"{name}.*found '{value}'"):
        requested_setup(RUN, "cpu")
