"""Models by name or path: what was saved comes back, nothing is unpickled or fetched, and faults are one line."""

from __future__ import annotations

import json
import pickle
import sys
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from loading_kit import bert, difformer, refused, vit
from wavy.dynamics import KINDS
from wavy.hosts.transformer import Transformer
from wavy.loading import load, load_any, save
from wavy.loading.loaded import GraphInput, ImageInput, PatchInput, TextInput
from wavy.loading.transformers_models import layers_of

kinds = pytest.mark.parametrize("kind", KINDS)


class Attack:
    """Unpickled, it leaves a file behind."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin"])
def test_no_weights_are_unpickled(tmp_path, name):
    timm = pytest.importorskip("timm")
    timm.models.save_for_hf(vit(), tmp_path)
    (tmp_path / name).write_bytes(pickle.dumps(Attack(tmp_path / "harm")))
    refused(lambda: load_any(tmp_path), name, "cannot be read as weights")
    save(difformer(), tmp_path)
    (tmp_path / "model.safetensors").write_bytes(pickle.dumps(Attack(tmp_path / "harm")))
    refused(lambda: load(tmp_path), "model.safetensors", "cannot be read as weights")
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (None, ["config.json cannot be read"]),
        ("{", ["config.json is not JSON"]),
        ("[]", ["found list", "JSON object"]),
        ("{}", ["wavy_class, model_type or architecture", "save_pretrained"]),
        ('{"wavy_class": "Nothing"}', ["found 'Nothing'", "DIFFormer, Transformer"]),
        ('{"wavy_class": "DIFFormer"}', ["no arguments"]),
        ('{"wavy_class": "DIFFormer", "arguments": {"depth": 2}, "residual": {}}', ["'depth'"]),
        ('{"model_type": "nothing"}', ["transformers cannot load it", "nothing"]),
        ('{"architecture": "vit_tiny_patch16_224", "model_args": [1]}', ["found [1] as model_args in config.json"]),
        ('{"architecture": "vit_tiny_patch16_224", "pretrained_cfg": [1]}', ["found [1] as pretrained_cfg"]),
        ('{"architecture": "nothing"}', ["no architecture 'nothing'"]),
    ],
)
def test_a_folder_that_holds_no_model_is_refused(tmp_path, config, words):
    if config is not None:
        (tmp_path / "config.json").write_text(config, encoding="utf-8")
    refused(lambda: load_any(tmp_path), *words)


# timm's


def test_a_name_of_timm_is_built_as_timm_does_and_leaves_the_random_state_alone():
    timm = pytest.importorskip("timm")
    options = {"img_size": 32, "patch_size": 16, "depth": 2, "residual": "light"}
    before = torch.get_rng_state()
    found = load_any("wavy_deit_tiny_patch16_224", options, random=True, seed=3)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(3)
    expected = timm.create_model("wavy_deit_tiny_patch16_224", **options).state_dict()
    assert all(torch.equal(value, expected[name]) for name, value in found.model.state_dict().items())
    assert found.weights == "random weights, seed 3"
    assert "residual=light" in found.name
    assert isinstance(found.takes, ImageInput)


@pytest.mark.parametrize("safe", [True, False])
def test_a_folder_of_timm_comes_back(tmp_path, safe):
    timm = pytest.importorskip("timm")
    model = vit()
    timm.models.save_for_hf(model, tmp_path, model_args={"img_size": 16}, safe_serialization=safe)
    found = load_any(tmp_path)
    x = torch.randn(2, 3, 16, 16)
    assert torch.equal(found.model(x), model(x))
    assert found.weights == "saved weights"
    assert not torch.equal(load_any(tmp_path, random=True, seed=1).model(x), model(x))
    refused(lambda: load_any(tmp_path, {"depth": 3}), "Missing key", "blocks.2")


def test_a_folder_that_does_not_say_how_to_prepare_images_is_refused(tmp_path):
    timm = pytest.importorskip("timm")
    timm.models.save_for_hf(vit(), tmp_path, model_args={"img_size": 16}, safe_serialization=True)
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    config["pretrained_cfg"]["mean"] = "grey"
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    refused(lambda: load_any(tmp_path), "pretrained_cfg")


@kinds
def test_a_wavy_model_of_timm_keeps_its_residual(tmp_path, kind):
    timm = pytest.importorskip("timm")
    options = {"img_size": 16, "patch_size": 8, "embed_dim": 12, "depth": 2, "num_heads": 2, "num_classes": 3}
    load_any("wavy_vit_tiny_patch16_224", options, random=True)  # registers wavy's models
    options |= {"residual": kind, "tau": 0.25, "theta_init": -1.0}
    model = timm.create_model("wavy_vit_tiny_patch16_224", **options).eval()
    architecture = {"architecture": "wavy_vit_tiny_patch16_224"}
    timm.models.save_for_hf(model, tmp_path, model_config=architecture, model_args=options, safe_serialization=True)
    x = torch.randn(2, 3, 16, 16)
    assert torch.equal(load_any(tmp_path).model(x), model(x))


def test_pretrained_weights_that_cannot_be_had_are_not_replaced_by_random_ones(monkeypatch, tmp_path):
    hub = pytest.importorskip("huggingface_hub")
    monkeypatch.setattr(hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(hub.constants, "HF_HUB_CACHE", str(tmp_path))
    refused(lambda: load_any("deit_tiny_patch16_224"), "pretrained weights cannot be had", "--random")
    refused(lambda: load_any("vgg11.nothing"), "pretrained weights cannot be had", "nothing")


@pytest.mark.parametrize("options", [{"depht": 2}, {"embed_dim": 7}, {"in_chans": 1}])
def test_options_that_a_timm_model_does_not_take_are_refused(options):
    pytest.importorskip("timm")
    refused(lambda: load_any("vit_tiny_patch16_224", options, random=True), "vit_tiny_patch16_224")


# transformers'


def test_a_folder_of_transformers_comes_back_without_its_head(tmp_path):
    model = bert(tmp_path)
    found = load_any(tmp_path)
    ids = torch.arange(12).view(2, 6)
    assert torch.equal(found.model(ids).last_hidden_state, model.bert(ids).last_hidden_state)
    assert found.weights == "saved weights"
    assert [type(block).__name__ for block in found.blocks] == ["BertLayer"] * 3
    assert found.takes == TextInput(vocabulary=30, longest=20, padding=0)
    assert len(load_any(tmp_path, {"num_hidden_layers": 2}).blocks) == 2


def test_layers_of_random_weights_do_not_pass_for_saved_ones(tmp_path):
    from safetensors.torch import load_file, save_file  # noqa: PLC0415

    bert(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    lacking = {name: value for name, value in weights.items() if "layer.1.output" not in name}
    save_file(lacking, tmp_path / "model.safetensors", metadata={"format": "pt"})
    refused(lambda: load_any(tmp_path), "4 weights of the layers are missing", "encoder.layer.1.output")
    lacking = {name: value for name, value in weights.items() if "token_type" not in name}
    save_file(lacking, tmp_path / "model.safetensors", metadata={"format": "pt"})
    assert "freshly drawn: embeddings.token_type_embeddings.weight" in load_any(tmp_path).weights


def test_of_an_encoder_decoder_the_encoder_is_taken(tmp_path):
    transformers = pytest.importorskip("transformers")
    config = transformers.T5Config(vocab_size=30, d_model=8, num_layers=2, num_heads=2, d_kv=4, d_ff=16)
    transformers.T5ForConditionalGeneration(config).save_pretrained(tmp_path)
    found = load_any(tmp_path)
    assert not found.model.is_decoder
    assert len(found.blocks) == 2


def test_the_blocks_of_one_stage_do_not_pass_for_all_layers(tmp_path):
    transformers = pytest.importorskip("transformers")
    small = {"image_size": 16, "patch_size": 2, "embed_dim": 8, "num_heads": [1, 2], "window_size": 2}
    transformers.SwinModel(transformers.SwinConfig(depths=[1, 3], **small)).save_pretrained(tmp_path)
    found = load_any(tmp_path)
    assert isinstance(found.takes, ImageInput)
    assert [type(block).__name__ for block in found.blocks] == ["SwinStage"] * 2


def test_only_one_list_of_as_many_members_as_layers_passes_for_the_layers():
    model = nn.Module()
    model.config = SimpleNamespace(num_hidden_layers=2)
    model.hashes = nn.ModuleList(nn.Linear(1, 1) for _ in range(3))
    model.encoder = nn.Module()
    model.encoder.layers = nn.ModuleList(nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 1)]) for _ in range(2))
    assert layers_of("mine", model) == list(model.encoder.layers)
    model.encoder.norms = nn.ModuleList(nn.LayerNorm(1) for _ in range(2))
    refused(lambda: layers_of("mine", model), "spread over encoder.layers, encoder.norms")
    model.config.num_hidden_layers = 9
    assert layers_of("mine", model) is None


@kinds
@pytest.mark.parametrize("host", ["bert", "gpt2"])
def test_a_wavy_language_model_keeps_its_residual(tmp_path, kind, host):
    module = pytest.importorskip(f"wavy.hosts.{host}")
    small = {
        "bert": {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16},
        "gpt2": {"n_embd": 8, "n_layer": 2, "n_head": 2, "n_positions": 16},
    }[host]
    name = {"bert": "WavyBert", "gpt2": "WavyGPT2"}[host]
    config = getattr(module, f"{name}Config")(vocab_size=20, residual=kind, tau=0.25, **small)
    model = getattr(module, f"{name}Model")(config).eval()
    model.save_pretrained(tmp_path)
    ids = torch.arange(10).view(2, 5)
    found = load_any(tmp_path)
    assert torch.equal(found.model(ids).last_hidden_state, model(ids).last_hidden_state)
    assert len(found.blocks) == 2


def test_what_takes_neither_text_nor_images_is_refused(tmp_path):
    transformers = pytest.importorskip("transformers")
    ids = {"vocab_size": 9, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 3}
    small = {"d_model": 12, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 8, "decoder_ffn_dim": 8}
    transformers.WhisperConfig(**ids, **small).save_pretrained(tmp_path)
    refused(lambda: load_any(tmp_path, random=True), "input_features", "input_ids or pixel_values")


@pytest.mark.parametrize("options", [{"hidden_sise": 8}, {"num_hidden_layers": "two"}])
def test_options_that_are_not_in_the_config_are_refused(tmp_path, options):
    bert(tmp_path)
    refused(lambda: load_any(tmp_path, options), *options)


def test_code_that_comes_with_a_model_is_not_run(tmp_path):
    bert(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    config |= {"model_type": "theirs", "auto_map": {"AutoConfig": "code.Config", "AutoModel": "code.Model"}}
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (tmp_path / "code.py").write_text(f"open({str(tmp_path / 'harm')!r}, 'w')\n", encoding="utf-8")
    refused(lambda: load_any(tmp_path), "transformers cannot load it")
    assert not (tmp_path / "harm").exists()


# names


def test_a_model_in_the_cache_of_the_hub_is_found_by_its_name(tmp_path, monkeypatch):
    hub = pytest.importorskip("huggingface_hub")
    monkeypatch.setattr(hub.constants, "HF_HUB_CACHE", str(tmp_path))
    repository, commit = tmp_path / "models--somebody--small-bert", "0" * 40
    bert(repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit, encoding="utf-8")
    found = load_any("somebody/small-bert")
    assert (found.name, len(found.blocks)) == ("somebody/small-bert", 3)


def test_a_name_that_nobody_knows_tells_where_it_was_looked_for(monkeypatch, tmp_path):
    hub = pytest.importorskip("huggingface_hub")
    monkeypatch.setattr(hub.constants, "HF_HUB_CACHE", str(tmp_path))
    refused(lambda: load_any("wavy_deit_tiny_patch16_22"), "no folder", "wavy_deit_tiny_patch16_224", "local cache")
    monkeypatch.setitem(sys.modules, "timm", None)
    refused(lambda: load_any("deit_tiny_patch16_224"), 'pip install "wavy[hosts]"')


def test_a_file_is_no_model(tmp_path):
    (tmp_path / "weights.pt").write_bytes(b"")
    refused(lambda: load_any(tmp_path / "weights.pt"), "found a file", "wavy.official.load")


@pytest.mark.parametrize("package", ["timm", "transformers"])
def test_a_missing_library_is_named_with_the_extra_that_has_it(tmp_path, monkeypatch, package):
    key = {"timm": "architecture", "transformers": "model_type"}[package]
    (tmp_path / "config.json").write_text(json.dumps({key: "any"}), encoding="utf-8")
    monkeypatch.setitem(sys.modules, package, None)
    refused(lambda: load_any(tmp_path), f"{package} is missing", 'pip install "wavy[hosts]"')


def test_wavys_own_models_say_what_they_take(tmp_path):
    save(difformer(), tmp_path / "a")
    save(Transformer(4, 6, 8, 3, 2), tmp_path / "b")
    assert load_any(tmp_path / "a").takes == GraphInput(5)
    assert load_any(tmp_path / "b").takes == PatchInput(tokens=6, channels=4)
