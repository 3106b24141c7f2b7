"""wavy models in timm's registry: pretrained weights, saving and loading, import without timm."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from timm_kit import FEW, NAMES, SCALES, SMALL, few, images, kinds, lively, names, small, states, stock, timm
from wavy import wavify
from wavy.diagnostics import layer_profile, mean_cosine

save_for_hf = pytest.importorskip("timm.models").save_for_hf


@names
def test_pretrained_weights_are_those_of_timms_model(name):
    ours, theirs = (timm.models.get_pretrained_cfg(prefix + name) for prefix in ("wavy_", ""))
    assert ours.architecture == f"wavy_{name}"
    assert (ours.url, ours.hf_hub_id, ours.tag, ours.input_size) == (
        theirs.url,
        theirs.hf_hub_id,
        theirs.tag,
        theirs.input_size,
    )
    assert ours.hf_hub_id is None or "wavy" not in ours.hf_hub_id


@few
def test_stock_weights_load_as_pretrained_ones(name):
    weights = stock(name).state_dict()
    config = {"state_dict": weights, "num_classes": 5, "input_size": (3, 32, 32), "classifier": None}
    options = SMALL | SCALES | {"pretrained_cfg_overlay": config, "residual": "light"}
    model = timm.create_model(f"wavy_{name}", pretrained=True, **options)
    assert all(torch.equal(model.state_dict()[key], value.float()) for key, value in weights.items())


@few
def test_a_file_of_stock_weights_loads_as_pretrained_ones(name, tmp_path):
    theirs, path = stock(name), str(tmp_path / "weights.pth")
    torch.save(theirs.state_dict(), path)
    overlay = {"file": path, "num_classes": 5, "input_size": (3, 32, 32), "classifier": None}
    options = SMALL | SCALES | {"residual": "light", "pretrained_cfg_overlay": overlay}
    model = timm.create_model(f"wavy_{name}", pretrained=True, **options).state_dict()
    assert all(torch.equal(model[key], value.float()) for key, value in theirs.state_dict().items())
    with pytest.raises(RuntimeError, match=r"Missing key.*residual\.theta"):
        timm.create_model(f"wavy_{name}", checkpoint_path=path, **SMALL, residual="light")


@kinds
@few
def test_weights_of_the_same_model_load_from_a_checkpoint_path(name, kind, tmp_path):
    model, path = small(name, kind, **SCALES), str(tmp_path / "weights.pth")
    torch.save(model.state_dict(), path)
    again = timm.create_model(f"wavy_{name}", checkpoint_path=path, residual=kind, **SMALL, **SCALES).state_dict()
    assert all(torch.equal(again[key], value.float()) for key, value in model.state_dict().items())


@few
@pytest.mark.parametrize("feature_cls", ["hook", "list", "dict", "fx", timm.models.FeatureHookNet])
def test_features_through_hooks_are_refused_by_name(name, feature_cls):
    with pytest.raises(ValueError, match=f"wavy_{name}: found feature_cls=.*{feature_cls!r}.*, allowed 'getter'"):
        timm.create_model(f"wavy_{name}", features_only=True, feature_cls=feature_cls, **SMALL)
    assert timm.create_model(f"wavy_{name}", features_only=True, feature_cls="getter", **SMALL).model is not None


@kinds
@few
def test_a_saved_model_is_built_again_with_its_residual(name, kind, tmp_path):
    model = small(name, kind, tau=0.3, **SCALES)
    save_for_hf(model, tmp_path, safe_serialization=True)
    again = timm.create_model(f"local-dir:{tmp_path}", pretrained=True).double().eval()
    assert type(again) is type(model)
    assert torch.allclose(again(images()), model(images()), atol=1e-4)
    assert repr(again.blocks[0].residual) == repr(model.blocks[0].residual)


@kinds
@few
def test_a_converted_model_is_saved_as_what_it_is(name, kind, tmp_path):
    model = lively(wavify(stock(name), kind, tau=0.3))
    save_for_hf(model, tmp_path)
    again = timm.create_model(f"local-dir:{tmp_path}", pretrained=True).double().eval()
    assert torch.allclose(again(images()), model(images()), atol=1e-4)
    assert repr(again.blocks[0].residual) == repr(model.blocks[0].residual)


@kinds
@few
def test_state_dict_round_trip(name, kind):
    model, fresh = small(name, kind, **SCALES), timm.create_model(f"wavy_{name}", residual=kind, **SMALL, **SCALES)
    fresh = fresh.double().eval()
    fresh.load_state_dict(model.state_dict())
    assert torch.equal(fresh(images()), model(images()))


@few
def test_device_and_type_reach_what_wavy_adds(name):
    options = SMALL | SCALES | {"residual": "light", "dtype": torch.bfloat16}
    model = timm.create_model(f"wavy_{name}", device="meta", **options)
    assert {(p.device.type, p.dtype) for p in model.parameters()} == {("meta", torch.bfloat16)}


@kinds
@few
def test_layer_profile_measures_the_state_after_each_block(name, kind):
    model = small(name, kind, **SCALES)
    profile = layer_profile(model, images())
    assert profile["module"].tolist() == ["blocks.0", "blocks.1", "blocks.2"]
    expected = [mean_cosine(x).mean().item() for x in states(model, images())]
    assert profile["cosine"].tolist() == pytest.approx(expected)


def test_registration_follows_the_import_of_timm():
    code = f"""
import sys
import wavy
assert not any(name.partition(".")[0] == "timm" for name in sys.modules)
for name in [name for name in sys.modules if name.partition(".")[0] == "wavy"]:
    del sys.modules[name]
import timm
assert not timm.list_models("wavy_*")
import wavy
assert len(timm.list_models("wavy_*")) == {len(NAMES)}
assert type(timm.create_model("wavy_{FEW[0]}", depth=1)).__module__ == "wavy.hosts.vit"
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
