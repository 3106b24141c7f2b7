"""A run that was killed at any moment goes on bit for bit as if it had not been; that of another run is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

pytest.importorskip("accelerate")

import loop_killed
import loop_kit
from loop_kit import Points, Stop, losses, net, stopping, train, weights
from wavy.training.loop import ClassTask, Setup


def _same(one, other):
    assert one.history.equals(other.history)
    assert one.evaluations.equals(other.evaluations)
    assert torch.equal(weights(one.model), weights(other.model))


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """A folder with what the killed runs have left, and the same run in peace."""
    folder = tmp_path_factory.mktemp("killed")
    done = subprocess.run(
        [sys.executable, loop_killed.__file__, str(folder)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder, loop_killed.run(folder / "whole")


@pytest.mark.parametrize("moment", loop_killed.KILLED, ids=lambda moment: moment.__name__)
def test_a_killed_run_goes_on(killed, moment):
    folder, whole = killed
    left = folder / moment.__name__
    assert max(path.name for path in left.glob("step-*")) == loop_killed.KILLED[moment]
    _same(loop_killed.run(left), whole)
    assert sorted(path.name for path in left.iterdir()) == ["step-000000008", "step-000000009"]


def test_a_run_can_be_stopped_after_every_step(tmp_path):
    def run(task=None):
        setup = Setup(folder=tmp_path, checkpoint_every=1)
        return train(setup, net(0.3), task, data=Points(noise=True), steps=4)

    whole = train(model=net(0.3), data=Points(noise=True), steps=4)
    for _ in range(3):
        with pytest.raises(Stop), stopping(ClassTask(), after=1) as task:
            run(task)
    _same(run(), whole)


def test_a_run_that_has_ended_is_not_trained_again(tmp_path):
    setup = Setup(folder=tmp_path)
    whole = train(setup, validation=Points(9))
    with stopping(ClassTask(), after=0) as task:
        _same(train(setup, task=task, validation=Points(9)), whole)


def test_the_last_few_checkpoints_stay(tmp_path):
    train(Setup(folder=tmp_path, checkpoint_every=1, keep=3))
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"step-00000000{step}" for step in (4, 5, 6)]


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ({"lr": 0.5}, "lr 0.01 instead of 0.5"),
        ({"seed": 1}, "seed 0 instead of 1"),
        ({"betas": (0.9, 0.98)}, r"betas \[0.9, 0.999\] instead of \[0.9, 0.98\]"),
        ({"params_hash": "b"}, "params_hash 'a' instead of 'b'"),
        ({"data": Points(36)}, "examples 37 instead of 36"),
        ({"model": torch.nn.Linear(5, 2)}, "parameters 66 instead of 12"),
    ],
)
def test_checkpoints_of_another_run_are_refused(tmp_path, other, named):
    setup = Setup(folder=tmp_path)
    train(setup, params_hash="a", steps=2)
    with pytest.raises(ValueError, match=f"^folder: found .*step-000000002 of a run with {named}; allowed"):
        train(setup, **{"params_hash": "a", "steps": 2} | other)


def test_how_it_is_done_may_change_between_times(tmp_path):
    whole = train(data=Points(noise=True))
    with pytest.raises(Stop), stopping(ClassTask(), after=3) as task:
        train(Setup(folder=tmp_path, checkpoint_every=1, workers=1), task=task, data=Points(noise=True))
    _same(train(Setup(folder=tmp_path, checkpoint_every=2, workers=2), data=Points(noise=True)), whole)


def test_unreadable_random_states_are_noticed(tmp_path):
    with pytest.raises(Stop), stopping(ClassTask(), after=3) as task:
        train(Setup(folder=tmp_path, checkpoint_every=1), task=task)
    newest = tmp_path / "step-000000003"
    (newest / "random_states_0.pkl").write_bytes(b"")
    loop_kit.without_sums(newest)
    with pytest.raises(ValueError, match="without readable random states of process 0"):
        train(Setup(folder=tmp_path))


def test_a_checkpoint_says_what_it_is(tmp_path):
    found = train(Setup(folder=tmp_path), params_hash="abc")
    record = json.loads((tmp_path / "step-000000006" / "run.json").read_text())
    assert record["facts"]["params_hash"] == "abc"
    assert record["facts"]["lr"] == 1e-2
    assert record["history"]["loss"] == losses(found)


def test_nothing_is_written_without_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    train()
    assert not list(Path().iterdir())
