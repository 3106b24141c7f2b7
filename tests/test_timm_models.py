"""timm's public behaviours, for all wavy models: a forward pass and its features, gradients, heads."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from timm_kit import FEW, NAMES, SCALES, SMALL, few, images, kinds, lively, names, own_names, small, states, stock, timm
from wavy import wavify
from wavy.dynamics import MIXED_KINDS
from wavy.residual import Residual

param_groups_weight_decay = pytest.importorskip("timm.optim").param_groups_weight_decay


def test_all_names_are_registered():
    assert set(timm.list_models("wavy_*")) == {f"wavy_{name}" for name in NAMES}


@names
@pytest.mark.parametrize("train", [False, True])
def test_diffusion_is_timm_bit_for_bit(name, train):
    options = {"drop_path_rate": 0.3, "proj_drop_rate": 0.1, "attn_drop_rate": 0.1}
    theirs, ours = stock(name, **options).train(train), small(name, **options).train(train)
    ours.load_state_dict(theirs.state_dict())
    found = []
    for model in (theirs, ours):
        torch.manual_seed(3)
        found.append(model(images()))
    assert torch.equal(*found)


@names
def test_stock_weights_load_with_only_own_parameters_missing(name):
    model = small(name, "mix_light", **SCALES)
    missing, unexpected = model.load_state_dict(stock(name).state_dict(), strict=False)
    assert unexpected == []
    assert missing == own_names(model)
    assert len(missing) == 4 * len(model.blocks)


@names
def test_every_parameter_gets_a_finite_gradient(name):
    model = small(name, "mix_full", **SCALES).train()
    model(images()).square().sum().backward()
    wrong = [name for name, p in model.named_parameters() if p.grad is None or not torch.isfinite(p.grad).all()]
    assert wrong == []


@kinds
@few
def test_own_parameters_learn_from_the_second_block_on(name, kind):
    model = small(name, kind, **SCALES).train()
    model(images()).square().sum().backward()
    assert len(own_names(model)) == (4 if kind in MIXED_KINDS else 3) * 3
    assert all(
        model.get_parameter(own).grad.abs().sum() > 0 for own in own_names(model) if not own.startswith("blocks.0")
    )


@kinds
@few
def test_intermediates_are_the_states_of_the_forward_pass(name, kind):
    model = small(name, kind, **SCALES)
    prefix = 0 if "cait" in name else model.num_prefix_tokens
    expected = [x[:, prefix:] for x in states(model, images())]
    final, found = model.forward_intermediates(images(), output_fmt="NLC")
    assert torch.equal(model.forward_head(final), model(images()))
    assert all(torch.equal(*pair) for pair in zip(found, expected, strict=True))
    maps = model.forward_intermediates(images(), indices=[0, 1], stop_early=True, intermediates_only=True)
    assert [m.shape for m in maps] == [(2, 12, 4, 4)] * 2
    assert all(torch.equal(m.flatten(2).mT, x) for m, x in zip(maps, expected, strict=False))
    (normed,) = model.forward_intermediates(images(), 1, norm=True, output_fmt="NLC", intermediates_only=True)
    assert torch.allclose(normed, model.norm(expected[-1]), atol=1e-12)


@kinds
@few
def test_a_pruned_model_ends_in_the_state_of_its_last_block(name, kind):
    model = small(name, kind)
    expected = model.norm(states(model, images())[1])
    assert model.prune_intermediate_layers([1]) == [1]
    assert torch.allclose(model.forward_features(images()), expected, atol=1e-12)
    assert len(model.blocks) == 2


@kinds
@few
@pytest.mark.parametrize("convert", [False, True])
def test_one_block_in_every_place_is_as_copies_of_it(name, kind, convert):
    def build(repeat):
        model = stock(name) if convert else small(name, kind)
        model.blocks = nn.Sequential(*(repeat(model.blocks[0]) for _ in range(4)))
        if convert:
            return lively_theta(wavify(model, kind))
        model.mark_last()
        return model

    shared, copies = build(lambda block: block), build(copy.deepcopy)
    assert len(list(shared.parameters())) < len(list(copies.parameters()))
    assert torch.equal(shared(images()), copies(images()))
    again, apart = (lively_theta(wavify(model, "light")) for model in (shared, copies))
    assert {name for name, _ in again.named_parameters()} == {name for name, _ in shared.named_parameters()} | {
        "blocks.0.residual.theta"
    }
    assert torch.equal(again(images()), apart(images()))


@kinds
@few
def test_a_last_block_in_another_place_is_never_taken_for_the_last(name, kind):
    model = small(name, kind)
    model.blocks = nn.Sequential(*reversed(model.blocks))
    for run in (model, model.forward_intermediates):
        with pytest.raises(RuntimeError, match=r"blocks: found the last one in another place.* mark_last\(\)"):
            run(images())
    model.mark_last()
    expected = small(name, kind)
    for block, other in zip(expected.blocks, model.blocks, strict=True):
        block.load_state_dict(other.state_dict())
    assert torch.equal(model(images()), expected(images()))


@kinds
@few
def test_a_pruned_model_leaves_one_that_shares_its_blocks_as_it_was(name, kind):
    teacher, student = small(name, kind), small(name, kind)
    expected = teacher(images())
    student.blocks = nn.Sequential(*teacher.blocks)
    student.prune_intermediate_layers([1])
    assert torch.equal(states(student, images())[1], states(teacher, images())[1])
    assert torch.equal(teacher(images()), expected)
    student.blocks[1].set_residual(Residual(12, "diffusion", form="stock").double())
    assert torch.equal(teacher(images()), expected)


@kinds
@few
def test_conversion_keeps_the_step_and_the_form_of_a_wavy_model(name, kind):
    model = small(name, kind, tau=0.3, form="euler")
    converted = wavify(model, "mix_full")
    assert {(b.residual.kind, b.residual.tau, b.residual.form) for b in converted.blocks} == {
        ("mix_full", 0.3, "euler")
    }
    assert converted._model_args["tau"] == 0.3
    other = wavify(model, "light", tau=0.4, form="stock")
    assert {(b.residual.tau, b.residual.form) for b in other.blocks} == {(0.4, "stock")}


@kinds
@pytest.mark.parametrize("name", [name for name in FEW if "cait" not in name])
def test_a_norm_within_the_mlp_stops_a_velocity_at_construction(name, kind):
    if kind not in ("full", "mix_full"):
        assert small(name, kind, scale_mlp_norm=True)(images()).shape == (2, 5)
        return
    with pytest.raises(ValueError, match=f"found '{kind}' with LayerNorm as mlp.norm, allowed Identity"):
        small(name, kind, scale_mlp_norm=True)
    with pytest.raises(ValueError, match=f"found '{kind}' with LayerNorm as mlp.norm, allowed Identity"):
        wavify(stock(name, scale_mlp_norm=True), kind)


@kinds
@few
def test_features_only(name, kind):
    features = lively(timm.create_model(f"wavy_{name}", residual=kind, features_only=True, **SMALL).double().eval())
    found = features(images())
    assert [tuple(f.shape) for f in found] == [(2, 12, 4, 4)] * 3
    assert features.feature_info.channels() == [12] * 3
    expected = features.model.forward_intermediates(images(), intermediates_only=True)
    assert all(torch.equal(*pair) for pair in zip(found, expected, strict=True))


RUNS = (lambda m: m(images()), lambda m: m.forward_intermediates(images(), intermediates_only=True)[-1])


@kinds
@few
def test_checkpointing_changes_no_gradient(name, kind):
    for run in RUNS:
        model = small(name, kind, drop_path_rate=0.3).train()
        plain = gradients(model, run)
        model.set_grad_checkpointing()
        again = gradients(model, run)
        assert all(torch.allclose(a, b, atol=1e-12) for a, b in zip(plain, again, strict=True))


@kinds
@few
@pytest.mark.parametrize("run", RUNS, ids=["forward", "intermediates"])
def test_reentrant_checkpointing_is_right_or_refused(name, kind, run, reentrant):
    model = small(name, kind).train()
    plain = gradients(model, run)
    model.set_grad_checkpointing()
    if kind == "diffusion":
        again = gradients(model, run)
        assert all(torch.allclose(a, b, atol=1e-12) for a, b in zip(plain, again, strict=True))
        return
    with pytest.raises(RuntimeError, match=f"set_reentrant_ckpt: found True with residual '{kind}', allowed False"):
        run(model)


@kinds
@few
def test_classifier(name, kind):
    model = small(name, kind)
    model.reset_classifier(2)
    assert model.double()(images()).shape == (2, 2)
    model.reset_classifier(0)
    assert torch.equal(model(images()), model.forward_head(model.forward_features(images()), pre_logits=True))
    assert model(images()).shape == (2, 12)


@few
def test_own_parameters_take_no_weight_decay(name):
    model = small(name, "light", **SCALES)
    assert model.no_weight_decay() - stock(name).no_weight_decay() == set(own_names(model))
    decayed = param_groups_weight_decay(model, weight_decay=0.1)[1]["params"]
    assert {id(p) for p in decayed}.isdisjoint(id(model.get_parameter(own)) for own in own_names(model))


@few
def test_the_same_seed_draws_the_same_weights_as_timm(name):
    built = []
    for prefix, options in (("", {}), ("wavy_", {"residual": "mix_full", **SCALES})):
        torch.manual_seed(1)
        built.append(timm.create_model(prefix + name, **SMALL | options).state_dict())
    assert all(torch.equal(value, built[1][key]) for key, value in built[0].items())


@kinds
@few
def test_an_empty_batch(name, kind):
    assert small(name, kind, **SCALES)(images(0)).shape == (0, 5)


@kinds
@few
def test_one_token_is_its_own_neighbour(name, kind):
    options = {} if "cait" in name or "distilled" in name else {"global_pool": "avg", "class_token": False}
    model = small(name, kind, img_size=8, **options, **SCALES)
    tokens = [x.shape[1] for x in states(model, images(2, 8, 8))]
    assert tokens == [2 + 1 if "distilled" in name else 1] * 3
    assert torch.isfinite(model(images(2, 8, 8))).all()


@kinds
@pytest.mark.parametrize("name", [name for name in FEW if "cait" not in name])
def test_another_image_size(name, kind):
    model = small(name, kind, dynamic_img_size=True, **SCALES)
    assert model(images(2, 40, 24)).shape == (2, 5)
    (last,) = model.forward_intermediates(images(2, 40, 24), 1, intermediates_only=True)
    assert last.shape == (2, 12, 5, 3)
    fixed = small(name, kind, **SCALES)
    assert torch.allclose(model(images()), fixed(images()), atol=1e-12)


@kinds
@few
def test_channels_last(name, kind):
    model = small(name, kind, **SCALES)
    expected, x = model(images()), images().contiguous(memory_format=torch.channels_last)
    assert torch.allclose(model.to(memory_format=torch.channels_last)(x), expected, atol=1e-12)


def lively_theta(model):
    """Give every theta the same values, far from their start."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("theta"):
                parameter.copy_(torch.linspace(-1, 2, 12))
    return model


def gradients(model, run):
    """The gradients of a run's sum of squares."""
    model.zero_grad()
    torch.manual_seed(5)
    run(model).square().sum().backward()
    return [p.grad.clone() for p in model.parameters() if p.grad is not None]


@pytest.fixture
def reentrant():
    """Reentrant checkpointing in timm."""
    before = timm.layers.use_reentrant_ckpt()
    timm.layers.set_reentrant_ckpt(True)
    yield
    timm.layers.set_reentrant_ckpt(before)
