"""What is not finite ends a run before it reaches a checkpoint; fp16 may leave steps out."""

from __future__ import annotations

import math
from contextlib import contextmanager

import pytest
import torch

pytest.importorskip("accelerate")

from safetensors.torch import load_file

from loop_kit import Stop, losses, net, stopping, train, weights
from wavy.training.loop import ClassTask, NonFinite, Setup


class Poisoned(ClassTask):
    """Spoils the loss, or the gradient alone, of the steps named, counted from 1."""

    def __init__(self, steps, gradient=False):
        super().__init__()
        self.steps, self.gradient, self.asked = steps, gradient, 0

    def loss(self, model, batch):
        self.asked += 1
        loss = super().loss(model, batch)
        if self.asked not in self.steps:
            return loss
        if self.gradient:
            # The square root has the value 0 here and an infinite slope.
            return loss + (0.0 * loss).sqrt()
        return loss * math.nan


@pytest.mark.parametrize("gradient", [False, True])
def test_a_run_ends_with_its_last_good_checkpoint(tmp_path, gradient):
    model = net()
    with pytest.raises(NonFinite) as caught:
        train(Setup(folder=tmp_path, checkpoint_every=2), model, Poisoned({6}, gradient), steps=8)
    what = "norm of the gradient nan" if gradient else "loss nan"
    assert str(caught.value) == (
        f"step 6: found {what}, allowed finite numbers; the last good checkpoint is {tmp_path / 'step-000000004'}"
    )
    assert weights(model).isfinite().all()
    assert all(value.isfinite().all() for value in load_file(caught.value.checkpoint / "model.safetensors").values())


def test_without_a_checkpoint_the_message_says_so():
    with pytest.raises(NonFinite, match="step 1: found loss nan, allowed finite numbers; there is no checkpoint"):
        train(task=Poisoned({1}))


def test_weights_that_overflow_reach_no_checkpoint(tmp_path, monkeypatch):
    steps, step = [], torch.optim.AdamW.step

    def spoiling(self, closure=None):
        step(self, closure)
        steps.append(1)
        if len(steps) == 2:
            self.param_groups[0]["params"][0].data[0, 0] = math.inf

    monkeypatch.setattr(torch.optim.AdamW, "step", spoiling)
    with pytest.raises(NonFinite, match="step 2: found weights that are not finite") as caught:
        train(Setup(folder=tmp_path, checkpoint_every=1))
    assert caught.value.checkpoint == tmp_path / "step-000000001"


@contextmanager
def scaled_loss(monkeypatch):
    """fp16's scaled loss, on the CPU in single precision."""
    from accelerate import Accelerator  # noqa: PLC0415

    construct = Accelerator.__init__

    def with_scaler(self, **options):
        construct(self, **options | {"mixed_precision": "no"})
        self.scaler, self.native_amp = torch.amp.GradScaler("cpu", init_scale=1024.0), False

    def unscale(self):
        for optimizer in self._optimizers:
            self.scaler.unscale_(optimizer.optimizer)

    with monkeypatch.context() as patched:
        patched.setattr(Accelerator, "__init__", with_scaler)
        patched.setattr(Accelerator, "unscale_gradients", unscale)
        yield


def test_steps_that_overflow_are_left_out_and_counted(monkeypatch):
    plain = train()
    with scaled_loss(monkeypatch):
        clean = train(precision="fp16")
        found = train(task=Poisoned({2, 4}, gradient=True), precision="fp16")
    assert losses(clean) == pytest.approx(losses(plain), rel=1e-5)
    assert clean.skipped == 0
    assert found.skipped == 2
    assert found.history["lr"].equals(plain.history["lr"])
    assert weights(found.model).isfinite().all()


def test_steps_that_overflow_without_end_end_the_run(monkeypatch):
    with scaled_loss(monkeypatch), pytest.raises(NonFinite, match="step 21: found norm of the gradient nan"):
        train(task=Poisoned(range(100), gradient=True), precision="fp16", steps=30)


def test_a_loss_that_is_not_finite_ends_fp16_too(monkeypatch):
    with scaled_loss(monkeypatch), pytest.raises(NonFinite, match="step 3: found loss nan"):
        train(task=Poisoned({3}), precision="fp16")


def test_the_scale_is_resumed(tmp_path, monkeypatch):
    def trained(folder, task):
        train(Setup(folder=tmp_path / folder, checkpoint_every=3), task=task, precision="fp16")
        return torch.load(tmp_path / folder / "step-000000006" / "scaler.pt")

    with scaled_loss(monkeypatch):
        whole = trained("whole", Poisoned({2}, gradient=True))
        with pytest.raises(Stop), stopping(Poisoned({2}, gradient=True), after=4) as task:
            trained("parts", task)
        assert trained("parts", ClassTask()) == whole
    assert whole["scale"] == 512
