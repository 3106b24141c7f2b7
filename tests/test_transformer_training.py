"""The small transformer's data, runs and training: splits, selection by validation data alone, honest stops."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from pydantic import ValidationError
from torch import nn

from wavy.data.images.patches import cut_patches, load_digit_patches
from wavy.dynamics import KINDS
from wavy.experiments.transformer import TransformerRun, TransformerStudy
from wavy.training.sequence import SequenceData, fit_sequence_classifier, split
from wavy.training.transformer import build_transformer, run_sequences, train_transformer, transformer_metrics

TINY = {"depth": 2, "epochs": 2, "dim": 16, "mlp_dim": 32}


def test_patches_go_row_by_row_and_lose_no_pixel():
    image = torch.arange(16.0).view(1, 4, 4)
    assert cut_patches(image, 2)[0].tolist() == [[0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15]]
    with pytest.raises(ValueError, match="size: found 3 for images of 4 x 4 pixels, allowed a divisor of both"):
        cut_patches(image, 3)
    tokens, labels = load_digit_patches()
    assert (tokens.shape, labels.shape) == ((1797, 16, 4), (1797,))
    assert (tokens.min(), tokens.max(), labels.unique().tolist()) == (0, 1, list(range(10)))


def test_splits_are_disjoint_cover_all_and_follow_the_seed_alone():
    data = run_sequences(TransformerRun(seed=3))
    rows = torch.cat(list(data.parts.values()))
    assert rows.sort().values.tolist() == list(range(1797))
    assert [len(data.parts[name]) for name in ("train", "val", "test")] == [1198, 299, 300]
    same = run_sequences(TransformerRun(seed=3, residual="full", norm="post", depth=5, dtype="float32"))
    other = run_sequences(TransformerRun(seed=4))
    assert all(torch.equal(data.parts[name], same.parts[name]) for name in data.parts)
    assert not torch.equal(data.parts["test"], other.parts["test"])
    assert (data.tokens.mean().abs() < 1e-12, data.tokens.std().item()) == (True, pytest.approx(1))


def test_building_and_training_leave_the_global_seed_alone_and_repeat_themselves():
    run = TransformerRun(residual="mix_full", theta_init=0.0, **TINY)
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    first = train_transformer(run)
    assert torch.equal(torch.rand(1), expected)
    second = train_transformer(run)  # now from another global state
    assert first.metrics == second.metrics
    assert first.history.equals(second.history)
    weights = second.model.state_dict()
    assert all(torch.equal(value, weights[name]) for name, value in first.model.state_dict().items())
    start = build_transformer(run).state_dict()
    assert all(torch.equal(value, start[name]) for name, value in build_transformer(run).state_dict().items())
    assert not torch.equal(start["head.weight"], weights["head.weight"])


@pytest.mark.parametrize("kind", KINDS)
def test_a_short_training_beats_the_majority_class(kind):
    fit = train_transformer(TransformerRun(residual=kind, depth=2, epochs=4, dtype="float32"))
    _, labels = fit.data.part("test")
    majority = torch.bincount(labels).max().item() / len(labels)
    assert fit.metrics["test_accuracy"] > 4 * majority
    assert (fit.metrics["diverged"], len(fit.history)) == (0, 4)
    assert all(parameter.dtype == torch.float32 for parameter in fit.model.parameters())


class Scripted(nn.Module):
    """Predicts what it was told for each epoch, so that the right selection is known."""

    def __init__(self, plan):
        super().__init__()
        self.plan, self.weight = plan, nn.Parameter(torch.ones(1))
        self.register_buffer("epoch", torch.zeros((), dtype=torch.long))

    def forward(self, tokens):
        if self.training:
            self.epoch += 1
        return self.plan[max(self.epoch.item() - 1, 0)][tokens[:, 0, 0].long()] * self.weight


def scripted(right_at):
    """Six sequences (2 train, 2 val, 2 test) and logits right for the named parts at each epoch."""
    labels = torch.tensor([0, 1] * 3)
    parts = {name: torch.tensor(rows) for name, rows in {"train": [0, 1], "val": [2, 3], "test": [4, 5]}.items()}
    plan = []
    for right in right_at:
        target = labels.clone()
        for name, rows in parts.items():
            if name not in right:
                target[rows] = 1 - target[rows]
        plan.append(F.one_hot(target, 2).float())
    return Scripted(plan), SequenceData(torch.arange(6.0).view(6, 1, 1), labels, parts)


def fitted(model, data, epochs):
    return fit_sequence_classifier(model, data, epochs=epochs, batch_size=2, lr=1e-9, weight_decay=0.0)


def test_test_accuracy_is_that_of_the_first_epoch_of_best_validation():
    fit = fitted(*scripted([{"test"}, {"val"}, {"test", "train"}, {"val", "test"}]), epochs=4)
    assert (fit.metrics["best_epoch"], fit.model.epoch.item()) == (2, 2)
    assert [fit.metrics[f"{part}_accuracy"] for part in ("val", "test", "train")] == [1, 0, 0]
    assert fit.history["val_accuracy"].tolist() == [0, 1, 0, 1]
    assert not any("test" in column for column in fit.history.columns)
    assert not fit.model.training


def test_a_loss_that_is_not_finite_stops_and_keeps_the_last_good_weights():
    model, data = scripted([set(), {"val"}, {"val"}, {"val"}])
    model.plan[2] = torch.full((6, 2), float("nan"))
    fit = fitted(model, data, epochs=4)
    assert (fit.metrics["diverged"], fit.metrics["best_epoch"], fit.metrics["val_accuracy"]) == (1, 2, 1)
    assert len(fit.history) == 2
    assert torch.isfinite(fit.model.weight).all()


def test_a_model_that_diverges_at_once_keeps_its_start():
    model, data = scripted([set()])
    model.plan[0] = torch.full((6, 2), float("nan"))
    fit = fitted(model, data, epochs=1)
    assert (fit.metrics["diverged"], fit.metrics["best_epoch"], fit.model.epoch.item()) == (1, 0, 0)
    assert fit.history.empty


def test_the_metrics_of_a_sweep_are_finite_and_in_range():
    metrics = transformer_metrics(TransformerRun(residual="full", dtype="float32", **TINY | {"epochs": 1}))
    assert all(math.isfinite(value) for value in metrics.values())
    assert 0 <= metrics["gap"] <= 1
    assert metrics["growth"] >= 1 - 1e-6
    for name in ("cosine", "effective_rank", "energy_ratio"):
        assert metrics[name] != metrics[f"init_{name}"]


def test_a_study_runs_every_combination_with_seeds_outermost():
    study = TransformerStudy(scale="cpu", depths=(2, 4), residuals=("full", "light"), seeds=(1, 0))
    runs = study.runs()
    assert len(set(runs)) == len(runs) == 2 * 2 * 2 * 2
    assert [run.seed for run in runs] == [1] * 8 + [0] * 8
    assert {(run.residual, run.theta_init) for run in runs} == {("full", None), ("light", 0.0)}
    assert {run.dtype for run in runs} == {"float32"}
    assert {run.dtype for run in TransformerStudy().runs()} == {"float64"}


@pytest.mark.parametrize(
    ("model", "options", "field"),
    [
        (TransformerRun, {"residual": "wave"}, "residual"),
        (TransformerRun, {"depths": 2}, "depths"),
        (TransformerRun, {"norm": "middle"}, "norm"),
        (TransformerRun, {"dropout": 1.0}, "dropout"),
        (TransformerStudy, {"seeds": (0, 0)}, "seeds"),
        (TransformerStudy, {"scale": "huge"}, "scale"),
    ],
)
def test_parameters_out_of_range_are_refused_by_name(model, options, field):
    with pytest.raises(ValidationError, match=field):
        model(**options)


def test_split_takes_any_number_of_examples():
    data = split(torch.zeros(7, 2, 1), torch.zeros(7).long(), 0)
    assert sorted(torch.cat(list(data.parts.values())).tolist()) == list(range(7))
