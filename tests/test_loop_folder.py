"""A folder of checkpoints is checked before training, belongs to one run, and survives damage."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch
from filelock import FileLock

pytest.importorskip("accelerate")

from loop_kit import Stop, losses, stopping, train, weights, without_sums
from wavy.training.loop import ClassTask, Setup, folders


@pytest.fixture
def stopped(tmp_path):
    """A folder with the checkpoints after three and four of six steps."""
    with pytest.raises(Stop), stopping(ClassTask(), after=4) as task:
        train(Setup(folder=tmp_path, checkpoint_every=1), task=task)
    return tmp_path


def _message(error):
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_folder_that_cannot_be_written_is_refused_before_training(tmp_path, place):
    (tmp_path / "file").write_text("")
    with stopping(ClassTask(), after=0) as task, pytest.raises(ValueError, match=r"^folder: found") as error:
        train(Setup(folder=tmp_path / place), task=task)
    assert _message(error).endswith("allowed a folder that can be written")


def _flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def _harms(name):
    return {
        "flipped": lambda folder: _flip(folder / name),
        "emptied": lambda folder: (folder / name).write_bytes(b""),
        "truncated": lambda folder: os.truncate(folder / name, (folder / name).stat().st_size // 2),
    }


NAMES = ("model.safetensors", "optimizer.bin", "random_states_0.pkl", "run.json")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("harm", _harms(""))
def test_the_next_older_checkpoint_takes_the_place_of_a_damaged_one(stopped, name, harm, caplog):
    _harms(name)[harm](stopped / "step-000000004")
    whole = train()
    with stopping(ClassTask(), after=3) as task:  # what is left after three of six
        found = train(Setup(folder=stopped, checkpoint_every=1), task=task)
    assert "step-000000004 is damaged" in caplog.text
    assert losses(found) == losses(whole)
    assert torch.equal(weights(found.model), weights(whole.model))
    assert sorted(path.name for path in stopped.iterdir()) == ["step-000000005", "step-000000006"]


def test_a_file_that_is_gone_is_noticed(stopped, caplog):
    (stopped / "step-000000004" / "optimizer.bin").unlink()
    assert losses(train(Setup(folder=stopped))) == losses(train())
    assert "step-000000004 is damaged" in caplog.text


def test_damaged_checkpoints_alone_are_refused(stopped):
    for path in stopped.iterdir():
        _flip(path / "model.safetensors")
    with pytest.raises(ValueError, match=r"^folder: found damaged checkpoints alone") as error:
        train(Setup(folder=stopped))
    _message(error)


def test_damaged_checkpoints_of_later_steps_do_not_outlive_new_ones(stopped):
    train(Setup(folder=stopped, checkpoint_every=1, keep=5))
    for step in (4, 5, 6):
        _flip(stopped / f"step-00000000{step}" / "optimizer.bin")
    with pytest.raises(Stop), stopping(ClassTask(), after=1) as task:
        train(Setup(folder=stopped, checkpoint_every=1, keep=1), task=task)
    assert [path.name for path in stopped.iterdir()] == ["step-000000004"]
    assert losses(train(Setup(folder=stopped))) == losses(train())


def test_checkpoints_of_earlier_versions_load(stopped):
    without_sums(stopped / "step-000000004")
    with stopping(ClassTask(), after=2) as task:
        assert losses(train(Setup(folder=stopped), task=task)) == losses(train())


def test_the_rest_of_a_checkpoint_is_in_nobodys_way(stopped):
    (stopped / "step-000000005").mkdir()
    (stopped / "step-000000005" / "optimizer.bin").write_bytes(b"rest")
    train(Setup(folder=stopped, checkpoint_every=1))
    assert sorted(path.name for path in stopped.iterdir()) == ["step-000000005", "step-000000006"]


def test_a_folder_belongs_to_one_run_at_a_time(stopped, monkeypatch):
    monkeypatch.setattr(folders, "LOCK_SECONDS", 0.0)
    before = sorted(stopped.iterdir())
    with FileLock(stopped / ".lock"), pytest.raises(ValueError, match=r"^folder: found another run") as error:
        train(Setup(folder=stopped))
    _message(error)
    assert set(before) <= set(stopped.iterdir())


OTHER = """
import sys
from loop_kit import train
from wavy.training.loop import ClassTask, Setup, folders
folders.LOCK_SECONDS = 0.0
try:
    train(Setup(folder=sys.argv[1]))
except ValueError as error:
    print(error)
"""


def test_another_process_is_kept_away_while_a_run_trains(tmp_path):
    said = []

    class Meanwhile(ClassTask):
        def loss(self, model, batch):
            if not said:
                command = [sys.executable, "-c", OTHER, str(tmp_path)]
                path = os.pathsep.join([os.path.dirname(__file__), *sys.path])
                done = subprocess.run(
                    command, capture_output=True, text=True, check=True, env=os.environ | {"PYTHONPATH": path}
                )
                said.append(done.stdout)
            return super().loss(model, batch)

    assert losses(train(Setup(folder=tmp_path), task=Meanwhile())) == losses(train())
    assert said[0].startswith("folder: found another run that writes to")
