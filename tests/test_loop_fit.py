"""The training loop in one process: equal to one written by hand, however a batch is split; calls do not disturb."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

pytest.importorskip("accelerate")

from loop_kit import Points, Sentences, Stop, bert, losses, net, stopping, train, weights
from wavy.training.loop import ClassTask, Setup, TokenTask
from wavy.training.loop.order import Order
from wavy.training.loop.processes import accelerated


def test_the_loop_does_what_a_plain_one_does():
    found = train(schedule="cosine", warmup=2, clip=0.1, weight_decay=0.3, steps=9)
    model, points, order = net(), Points(), Order(37, 8, 0)
    matrices = [parameter for parameter in model.parameters() if parameter.ndim == 2]
    vectors = [parameter for parameter in model.parameters() if parameter.ndim == 1]
    groups = [{"params": matrices, "weight_decay": 0.3}, {"params": vectors, "weight_decay": 0.0}]
    optimizer, expected = torch.optim.AdamW(groups, lr=1e-2), []
    for step in range(9):
        batch = [points[index] for _, index in order.batch(step)]
        labels = torch.tensor([item["labels"] for item in batch])
        loss = F.cross_entropy(model(torch.stack([item["input"] for item in batch])), labels)
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        lr = 1e-2 * (step / 2 if step < 2 else (1 + math.cos(math.pi * (step - 2) / 7)) / 2)
        for group in optimizer.param_groups:
            group["lr"] = lr
        optimizer.step()
        expected.append((step + 1, loss.item(), norm.item(), lr))
    assert np.allclose(found.history.to_numpy(), expected, rtol=1e-5)
    assert list(found.history.columns) == ["step", "loss", "grad_norm", "lr"]
    assert torch.allclose(weights(found.model), weights(model), atol=1e-6)


@pytest.mark.parametrize("size", [1, 3, 5])
def test_accumulated_gradients_are_those_of_the_whole_batch(size):
    whole, parts = train(), train(Setup(micro_batch_size=size))
    assert np.allclose(parts.history, whole.history, rtol=1e-5)
    assert torch.allclose(weights(parts.model), weights(whole.model), atol=1e-6)


@pytest.mark.parametrize("causal", [False, True])
def test_tokens_weigh_the_same_in_every_micro_batch(causal):
    pytest.importorskip("transformers")

    def trained(size):
        return train(Setup(micro_batch_size=size), bert("light"), TokenTask(causal), Sentences(), eps=1e-4)

    whole, parts = trained(None), trained(3)
    assert np.allclose(parts.history, whole.history, rtol=1e-4)
    assert torch.allclose(weights(parts.model), weights(whole.model), atol=1e-5)


def test_a_batch_without_labels_is_refused():
    task = ClassTask()
    task.weight = lambda batch: 0.0
    with pytest.raises(ValueError, match="weight is 0"):
        train(task=task)


def test_workers_and_evaluations_change_nothing():
    plain = train(data=Points(noise=True), model=net(0.3))
    setup = Setup(workers=2, evaluate_every=2)
    other = train(setup, net(0.3), data=Points(noise=True), validation=Points(5, noise=True))
    assert losses(other) == losses(plain)
    assert torch.equal(weights(other.model), weights(plain.model))
    assert other.evaluations["step"].tolist() == [2, 4, 6]


def test_seeds_alone_decide_about_order_and_dropout():
    first, second = net(0.3), net(0.3)
    torch.rand(3)
    assert losses(train(model=first)) == losses(train(model=second))
    one, other = (losses(train(model=net(0.3), seed=seed, batch_size=37)) for seed in (0, 1))
    assert one != other


def test_evaluation_is_over_all_examples_in_eval_mode():
    validation = Points(11)
    found = train(Setup(micro_batch_size=4), net(0.5), validation=validation)
    logits = found.model(validation.x)
    labels = (validation.x.sum(1) > 0).long()
    measured = found.evaluations.iloc[-1]
    assert measured["accuracy"] == pytest.approx((logits.argmax(1) == labels).double().mean().item())
    assert measured["loss"] == pytest.approx(F.cross_entropy(logits, labels).item(), rel=1e-6)


class Drawn(ClassTask):
    """Measures the mean of what the examples hold."""

    def outputs(self, model, batch):
        return {"input": batch["input"]}

    def metrics(self, outputs):
        return {"mean": outputs["input"].mean().item()}


def test_each_evaluation_draws_the_same_whatever_the_seed():
    noisy = Points(9, noise=True)
    found = [train(Setup(evaluate_every=3), task=Drawn(), validation=noisy, seed=seed) for seed in (0, 1)]
    assert len({mean for run in found for mean in run.evaluations["mean"]}) == 1


def test_the_model_is_left_in_eval_mode():
    assert not train().model.training


def test_half_precision_is_near_single():
    single, half = train(), train(precision="bf16")
    assert np.allclose(losses(half), losses(single), rtol=2e-2)
    assert losses(half) != losses(single)
    assert {parameter.dtype for parameter in half.model.parameters()} == {torch.float32}


def test_calls_in_one_process_do_not_disturb_each_other():
    model = net()
    first = losses(train(model=model, precision="bf16"))
    assert "forward" not in vars(model)
    assert not any("accelerate" in name for name in vars(model))
    with pytest.raises(Stop), stopping(ClassTask(), after=2) as task:
        train(model=model, task=task)
    model.load_state_dict(net().state_dict())
    assert losses(train(model=model)) == losses(train())
    model.load_state_dict(net().state_dict())
    assert losses(train(model=model, precision="bf16")) == first


def test_an_accelerator_of_others_lives_on():
    with accelerated("bf16", Setup()) as theirs:
        theirs.gradient_accumulation_steps = 4
        train()
        assert theirs.mixed_precision == "bf16"
        assert theirs.gradient_accumulation_steps == 4


def test_a_launcher_changes_neither_precision_nor_gradients(monkeypatch):
    expected = train()
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", "bf16")
    monkeypatch.setenv("ACCELERATE_GRADIENT_ACCUMULATION_STEPS", "4")
    assert train().history.equals(expected.history)


def test_single_precision_is_asked_for_where_fp16_cannot_be():
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(ValueError, match=r"^precision: found 'fp16' on cpu"):
        train(precision="fp16")


def test_lost_processes_are_noticed(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setattr("accelerate.state.PartialState._prepare_backend", lambda *args: (None, "NO"))
    with pytest.raises(ValueError, match="WORLD_SIZE: found 2, but Accelerate finds 1"):
        train()


def test_no_examples_are_refused():
    with pytest.raises(ValueError, match="train: found no examples"):
        train(data=Points(0))
    with pytest.raises(ValueError, match="validation: found no examples"):
        train(validation=Points(0))
