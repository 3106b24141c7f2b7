"""What a run says of itself: seldom lines, and a log for TensorBoard where one is asked for."""

from __future__ import annotations

import sys

import pytest

pytest.importorskip("accelerate")

from loop_kit import Points, Stop, losses, stopping, train
from wavy.training.loop import ClassTask, Setup
from wavy.training.loop.progress import Progress


def _lines(seconds_a_step, steps, first=0, **options):
    said, now = [], [100.0]
    progress = Progress(first, steps, said.append, clock=lambda: now[0], **options)
    for step in range(first + 1, steps + 1):
        now[0] += seconds_a_step
        progress.after(step, 1.5, {"accuracy": 0.25} if step == 20 else {})
    return said


def test_lines_come_every_few_seconds_and_at_the_end():
    assert _lines(0.5, 25) == [
        "step 10/25: loss 1.5, 2 steps/s, about 8 s left",
        "step 20/25: loss 1.5, validation accuracy 0.25, 2 steps/s, about 2 s left",
        "step 25/25: loss 1.5, 2 steps/s",
    ]


def test_slow_steps_have_a_line_each():
    assert [line.rpartition(", ")[2] for line in _lines(3600.0, 4)] == [
        "about 3.0 h left",
        "about 2.0 h left",
        "about 60 min left",
        "0.000278 steps/s",
    ]


def test_steps_of_an_earlier_time_do_not_count_for_the_rate():
    assert _lines(10.0, 103, first=100)[0] == "step 101/103: loss 1.5, 0.1 steps/s, about 20 s left"


def test_silence(capsys):
    train(report=None)
    out = capsys.readouterr()
    assert not out.out + out.err


def test_a_run_reports_its_last_step():
    said = []
    found = train(report=said.append, validation=Points(5))
    assert len(said) == 1
    assert said[0].startswith(f"step 6/6: loss {losses(found)[-1]:.4g}, validation loss ")


def _logged(folder):
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    log = events.EventAccumulator(str(folder))
    log.Reload()
    return {name: [(event.step, event.value) for event in log.Scalars(name)] for name in log.Tags()["scalars"]}


@pytest.mark.filterwarnings("ignore:.*distutils.*")
def test_tensorboard_shows_each_step_once_also_after_a_stop(tmp_path):
    pytest.importorskip("tensorboard")
    setup = Setup(log_dir=tmp_path / "log", folder=tmp_path / "run", checkpoint_every=2, evaluate_every=3)
    with pytest.raises(Stop), stopping(ClassTask(), after=3) as task:
        train(setup, task=task, validation=Points(9))
    found = train(setup, validation=Points(9))
    logged = _logged(tmp_path / "log")
    assert logged.keys() == {"loss", "grad_norm", "lr", "validation/loss", "validation/accuracy"}
    assert [step for step, _ in logged["loss"]] == [1, 2, 3, 4, 5, 6]
    assert [loss for _, loss in logged["loss"]] == pytest.approx(losses(found))
    assert [step for step, _ in logged["validation/loss"]] == [3, 6]


@pytest.mark.parametrize(("package", "extra"), [("tensorboard", "training"), ("accelerate", "hosts")])
def test_a_missing_package_is_named_with_its_extra(monkeypatch, tmp_path, package, extra):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        ModuleNotFoundError, match=rf'package {package} is missing; install the extra: pip install "wavy\[{extra}\]"'
    ):
        train(Setup(log_dir=tmp_path))
