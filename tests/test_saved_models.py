"""wavy's own models in a folder: what was saved comes back, and what cannot come back is not saved."""

from __future__ import annotations

import inspect

import pytest
import torch
from torch import nn

from loading_kit import difformer, refused
from wavy import wavify
from wavy.dynamics import KINDS
from wavy.hosts.attention import KERNELS
from wavy.hosts.difformer import DIFFormer
from wavy.hosts.transformer import Transformer, WavyBlock
from wavy.loading import load, save
from wavy.loading.arguments import ARGUMENTS, residual_arguments

kinds = pytest.mark.parametrize("kind", KINDS)

#: Options of a DIFFormer that are none of the defaults.
DIFFORMER = {
    "heads": 2,
    "kernel": "sigmoid",
    "dropout": 0.3,
    "use_weight": True,
    "use_source": True,
    "graph_weight": 0.7,
    "use_norm": False,
    "operator": "row_stochastic",
}
TRANSFORMER = {"heads": 2, "mlp_dim": 6, "norm": "post", "use_value": False, "dropout": 0.1, "exact_norm": True}
EDGES = torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]])


@kinds
@pytest.mark.parametrize("options", [{}, DIFFORMER, {"use_graph": False}])
@pytest.mark.parametrize("form", ["euler", "stock"])
def test_a_saved_difformer_comes_back(tmp_path, kind, options, form):
    model = wavify(difformer(**options), kind, tau=0.3, theta_init=-1.5, form=form)
    save(model, tmp_path / "deep" / "folder")
    again = load(tmp_path / "deep" / "folder")
    x = torch.randn(4, 5, dtype=torch.float64)
    assert torch.equal(again(x, EDGES), model(x, EDGES))
    assert str(again) == str(model.eval())
    assert residual_arguments(again) == residual_arguments(model)


@kinds
@pytest.mark.parametrize("options", [{}, TRANSFORMER])
def test_a_saved_transformer_comes_back(tmp_path, kind, options):
    model = Transformer(4, 6, 8, 3, 2, residual=kind, **options).eval()
    save(model, tmp_path)
    x = torch.randn(2, 6, 4)
    assert torch.equal(load(tmp_path)(x), model(x))


@pytest.mark.parametrize(
    ("model", "builders"),
    [(difformer(), (DIFFormer,)), (Transformer(4, 6, 8, 3, 2), (Transformer, WavyBlock))],
)
def test_every_argument_of_the_classes_is_saved(model, builders):
    saved = {*ARGUMENTS[type(model).__name__](model), *residual_arguments(model)}
    asked = {name for builder in builders for name in inspect.signature(builder).parameters}
    assert asked - saved <= {"block"}  # the Transformer hands **block on
    assert saved - asked <= {"form"}  # a DIFFormer gets another form from wavify alone


def test_a_model_of_another_class_or_of_unlike_layers_is_not_saved(tmp_path):
    with pytest.raises(TypeError, match=r"model: found Linear, allowed DIFFormer, Transformer; .*save_pretrained"):
        save(nn.Linear(2, 2), tmp_path)
    model = difformer("light")
    model.residuals[1].tau = 0.4
    with pytest.raises(ValueError, match="layers differ in their options"):
        save(model, tmp_path)
    assert not list(tmp_path.iterdir())


def _other_kernel(model):
    model.convs[1].attention = KERNELS["sigmoid"]


def _other_activation(model):
    model.blocks[1].mlp.activation = "relu"


def _activation_everywhere(model):
    for block in model.blocks:
        block.mlp.activation = "relu"


@pytest.mark.parametrize(
    ("model", "change", "where"),
    [
        (difformer(), _other_kernel, "convs.1"),
        (Transformer(4, 6, 8, 3, 2), _other_activation, "blocks.1.mlp"),
        (Transformer(4, 6, 8, 3, 2), _activation_everywhere, "blocks.0.mlp"),
    ],
)
def test_an_option_that_loading_would_lose_is_not_saved(tmp_path, model, change, where):
    change(model)
    refused(lambda: save(model, tmp_path), "layers differ in their options", where)
    assert not list(tmp_path.iterdir())


def test_a_place_that_cannot_be_written_is_told_in_one_line(tmp_path):
    (tmp_path / "file").touch()
    for place in ("file", "file/below"):
        refused(lambda place=place: save(difformer(), tmp_path / place), "folder: found", place)


def test_options_change_a_saved_model(tmp_path):
    save(difformer("full"), tmp_path)
    assert {residual.tau for residual in load(tmp_path, tau=0.1).residuals} == {0.1}
    refused(lambda: load(tmp_path, tua=0.1), "found 'tua'", "tau")
    refused(lambda: load(tmp_path, dropout="much"), "DIFFormer")


def test_weights_of_another_model_are_refused(tmp_path):
    save(difformer(), tmp_path / "a")
    save(Transformer(4, 6, 8, 3, 2), tmp_path / "b")
    (tmp_path / "b" / "model.safetensors").replace(tmp_path / "a" / "model.safetensors")
    refused(lambda: load(tmp_path / "a"), "fcs.0.weight")
    refused(lambda: load(tmp_path / "b"), "model.safetensors", "cannot be read")
