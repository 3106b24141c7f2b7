"""Learning rates, weight decay, and what options allow."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from loop_kit import bert, deit, losses, recipe, train
from wavy.training.loop import Setup
from wavy.training.loop.groups import parameter_groups
from wavy.training.loop.schedule import SCHEDULES, factor
from wavy.training.loop.seeds import derived_seed


@pytest.mark.parametrize("schedule", ["linear", "cosine", "constant"])
@pytest.mark.parametrize("warmup", [0, 3])
def test_schedules_are_those_of_transformers(schedule, warmup):
    transformers = pytest.importorskip("transformers")
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    name = "constant_with_warmup" if schedule == "constant" else schedule
    theirs = transformers.get_scheduler(name, optimizer, warmup, 10)
    for step in range(10):
        assert factor(step, 10, warmup, schedule) == pytest.approx(theirs.get_last_lr()[0])
        optimizer.step()
        theirs.step()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_schedules_rise_to_one_and_do_not_rise_again(schedule):
    factors = [factor(step, 20, 5, schedule) for step in range(20)]
    assert factors[0] == 0
    assert factors[5] == max(factors) == 1
    assert factors[5:] == sorted(factors[5:], reverse=True)


def _decayed(model):
    groups = parameter_groups(model, 0.1)
    assert [group["weight_decay"] for group in groups] == [0.1, 0.0]
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    decayed, spared = ({names[id(parameter)] for parameter in group["params"]} for group in groups)
    assert decayed | spared == set(names.values())
    assert not decayed & spared
    return decayed


def test_bert_decays_its_matrices_alone():
    pytest.importorskip("transformers")
    model = bert("light")
    assert _decayed(model) == {name for name, parameter in model.named_parameters() if parameter.ndim == 2}
    assert any(name.endswith("theta") for name, _ in model.named_parameters())


def test_timm_models_spare_what_they_name():
    pytest.importorskip("timm")
    model = deit("mix_full", featscale=True, attnscale=True)
    decayed = _decayed(model)
    own = {name for name, _ in model.named_parameters() if "theta" in name or "lamb" in name}
    assert own
    assert not decayed & (own | {"pos_embed", "cls_token"})
    assert {"patch_embed.proj.weight", "head.weight"} < decayed


def test_frozen_parameters_have_no_group():
    model = nn.Linear(3, 3)
    model.weight.requires_grad_(False)
    assert [group["params"] for group in parameter_groups(model, 0.1)] == [[model.bias]]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("steps", 0), ("batch_size", 0), ("lr", 0.0), ("lr", float("nan")), ("weight_decay", -1.0), ("eps", 0.0),
        ("schedule", "step"), ("warmup", 6), ("warmup", -1), ("clip", 0.0), ("precision", "fp8"), ("seed", -1),
        ("seed", 1.5), ("seed", True), ("steps", 3.0), ("warmup", 0.5), ("lr", "1e-3"), ("lr", None), ("lr", True),
        ("weight_decay", None), ("clip", "1"), ("betas", (0.9,)), ("betas", 0.9), ("betas", (0.9, 1.0)),
        ("betas", (0.9, "0.99")), ("betas", "ab"),
    ],
)  # fmt: skip
def test_recipes_out_of_range_are_refused(name, value):
    with pytest.raises(ValueError, match=f"^{name}: found .*allowed .*$"):
        recipe(**{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("micro_batch_size", 0), ("evaluate_every", 0), ("checkpoint_every", -1), ("keep", 0), ("workers", -1),
        ("device", "tpu"), ("workers", None), ("workers", 1.0), ("keep", None), ("evaluate_every", 2.5),
    ],
)  # fmt: skip
def test_setups_out_of_range_are_refused(name, value):
    with pytest.raises(ValueError, match=f"^{name}: found .*allowed"):
        Setup(**{name: value})


def test_numbers_of_numpy_are_those_of_python(tmp_path):
    numbers = {"steps": np.int64(3), "batch_size": np.int32(8), "seed": np.int64(0), "warmup": np.uint8(1)}
    numbers |= {"lr": np.float64(1e-2), "weight_decay": np.float64(0.01)}
    plain = {name: number.item() for name, number in numbers.items()}
    assert repr(recipe(**numbers)) == repr(recipe(**plain))
    setup = Setup(folder=tmp_path, checkpoint_every=np.int64(2), keep=np.int64(1), workers=np.int64(0))
    assert losses(train(setup, **numbers)) == losses(train(**plain))


def test_derived_seeds_are_those_of_the_digits():
    assert (derived_seed(0), derived_seed(0, 1), derived_seed(3, 2, 1)) == (2401182347, 3299023710, 2351761880)
    assert derived_seed(np.int64(3), np.int32(2), 1) == derived_seed(3, 2, 1)
    with pytest.raises(TypeError):
        derived_seed(1.5)


def test_a_model_without_trained_parameters_is_refused():
    with pytest.raises(ValueError, match=r"^model: found no parameter that is trained, allowed at least one$"):
        train(model=nn.Linear(5, 2).requires_grad_(False))


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_double_precision_goes_with_no_half_one(precision):
    with pytest.raises(ValueError, match=rf"^precision: found '{precision}' for a model in float64, allowed no$"):
        train(model=nn.Linear(5, 2).double(), precision=precision)


def test_a_log_goes_to_a_folder(tmp_path):
    pytest.importorskip("tensorboard")
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match=r"^log_dir: found .*file .*allowed a folder that can be written$"):
        train(Setup(log_dir=tmp_path / "file"))


def test_checkpoints_need_a_folder():
    with pytest.raises(ValueError, match=r"^folder: found None"):
        Setup(checkpoint_every=3)
