"""Runs that are killed at a bad moment, for the tests of resuming: ``python loop_killed.py FOLDER``.

Each goes on in a process of its own, forked from this one, and writes its checkpoints to ``FOLDER/<name>``.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path

import accelerate  # noqa: F401 (slow, so once, before the processes part)
import torch
import torch._dynamo  # an optimizer imports it

import loop_kit
from wavy.training.loop import ClassTask, Setup

STEPS = 9


def run(folder):
    """The run: with dropout, random data, an accumulated gradient, validation, and a checkpoint every other step."""
    setup = Setup(folder=folder, checkpoint_every=2, evaluate_every=3, micro_batch_size=3, device="cpu")
    data = loop_kit.Points(noise=True)
    return loop_kit.train(setup, loop_kit.net(0.3), data=data, validation=data, steps=STEPS, warmup=2)


def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def at(call, number):
    """A call that kills the process when it is called for the ``number``-th time."""
    left = [number]

    def counted(*arguments, **options):
        left[0] -= 1
        return call(*arguments, **options) if left[0] else die()

    return counted


def in_the_loss():
    # Three micro-batches a step.
    ClassTask.loss = at(ClassTask.loss, 3 * 5 + 2)


def between_two_files():
    # A checkpoint has two files of torch.
    torch.save = at(torch.save, 4)


def within_a_file():
    whole = torch.save

    def half(content, path):
        whole(content, path)
        if "optimizer" in str(path) and (path.parents[1] / "step-000000002").exists():
            os.truncate(path, path.stat().st_size // 2)
            die()

    torch.save = half


def before_the_rename():
    Path.rename = at(Path.rename, 2)


def while_the_oldest_is_removed():
    def partly(folder, **options):
        if folder.name.startswith("step"):
            (folder / "optimizer.bin").unlink()
            die()

    shutil.rmtree = partly


#: How a run is killed, and the checkpoint that is the latest then.
KILLED = {
    in_the_loss: "step-000000004",
    between_two_files: "step-000000002",
    within_a_file: "step-000000002",
    before_the_rename: "step-000000002",
    while_the_oldest_is_removed: "step-000000006",
}

if __name__ == "__main__":
    torch.set_num_threads(1)
    for prepare in KILLED:
        child = os.fork()
        if not child:
            prepare()
            run(Path(sys.argv[1]) / prepare.__name__)
            os._exit(0)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != -signal.SIGKILL:
            sys.exit(f"{prepare.__name__}: the run was not killed")
