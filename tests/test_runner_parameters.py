"""Parameters are read strictly: what fits is converted, what does not is refused in one line that helps."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

import wavy.experiments
from notebook_kit import checkout, code
from wavy.companion.parameters import check_parameters, read_parameters
from wavy.companion.paths import CompanionError
from wavy.companion.source import read_source

DEFAULTS = {
    "scale": "quick",
    "depths": None,
    "taus": [0.5],
    "name": None,
    "kinds": None,
    "epochs": 5,
    "lr": 0.1,
    "shuffle": False,
    "device": "cpu",
}


class Toy(BaseModel):
    """An experiment with a field of every kind."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    scale: Literal["quick", "cpu", "gpu"] = "quick"
    depths: tuple[Annotated[int, Field(ge=1)], ...] | None = None
    taus: tuple[float, ...] = (0.5,)
    name: str | None = None
    kinds: tuple[Literal["full", "light"], ...] | None = None
    epochs: int = Field(5, ge=1, le=500)
    lr: float = Field(0.1, gt=0)
    shuffle: bool = False
    device: str = "cpu"

    @field_validator("depths", "taus")
    @classmethod
    def _no_value_twice(cls, values):
        if values is not None and len(set(values)) < len(values):
            raise ValueError("no value\nmay stand twice")
        return values

    @model_validator(mode="after")
    def _gpu_scale_needs_a_gpu(self):
        if self.scale == "gpu" and self.device == "cpu":
            raise ValueError("scale gpu needs device cuda")
        return self


@pytest.fixture(params=["model", "cell"])
def kind(request, monkeypatch):
    """Check by the experiment's model, or by the types in the parameters cell alone."""
    monkeypatch.setattr(wavy.experiments, "EXPERIMENTS", {"toy": Toy} if request.param == "model" else {})
    return request.param


@pytest.fixture
def model(monkeypatch):
    monkeypatch.setattr(wavy.experiments, "EXPERIMENTS", {"toy": Toy})


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("shuffle=true", True),
        ("shuffle=False", False),
        ("epochs=7", 7),
        ("lr=1", 1.0),
        ("lr=1e-3", 1e-3),
        ("depths=2,4,8", [2, 4, 8]),
        ("depths=[2, 4, 8]", [2, 4, 8]),
        ("depths=none", None),
        ("taus=0.2,1", [0.2, 1.0]),
        ("taus=0.2", [0.2]),
        ("device=cuda", "cuda"),
        ("device=true", "true"),  # text stays text
        ("device=", ""),
        ("device=a=b", "a=b"),
        ("name=None", None),
        ("name=x", "x"),
    ],
)
def test_values_take_the_type_of_the_parameter(kind, setting, value):
    key = setting.split("=")[0]
    checked = check_parameters("toy", DEFAULTS, [setting])
    assert checked == {key: value}
    assert type(checked[key]) is type(value)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (["epoch=1"], ['no parameter "epoch"', 'did you mean "epochs"', "scale, depths"]),
        (["zzz=1"], ["known: scale, depths"]),
        (["epochs"], ['expected name=value, found "epochs"']),
        (["epochs=1", "epochs=2"], ["given twice"]),
        (["epochs=true"], ["epochs=true", "an integer"]),
        (["epochs=2.5"], ["an integer"]),
        (["epochs=none"], ["an integer"]),
        (["epochs="], ["an integer"]),
        (["epochs=1,2"], ["an integer"]),
        (["shuffle=maybe"], ["true or false"]),
        (["lr=fast"], ["a number"]),
        (["taus=a,b"], ["a comma-separated list, each a number"]),
        (["taus=none"], ["a comma-separated list"]),
    ],
)
def test_wrong_names_and_types_are_refused(kind, settings, told):
    with pytest.raises(CompanionError) as refusal:
        check_parameters("toy", DEFAULTS, settings)
    assert "\n" not in str(refusal.value)
    for part in told:
        assert part in str(refusal.value)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (["scale=quik"], ["one of quick, cpu, gpu", 'nearest: "quick"']),
        (["kinds=full,ligt"], ["each one of full, light", 'nearest: "light"']),
        (["epochs=0"], ["an integer >= 1 and <= 500"]),
        (["epochs=501"], ["an integer >= 1 and <= 500"]),
        (["lr=0"], ["a number > 0"]),
        (["depths=2,0"], ["a comma-separated list, each an integer >= 1, or none"]),
        (["scale=gpu"], ["toy: scale gpu needs device cuda"]),
        (["depths=2,2"], ["depths=2,2 is not allowed", "or none (no value may stand twice)"]),
        (["taus=0.5,0.5"], ["each a number (no value may stand twice)"]),
    ],
)
def test_values_out_of_range_are_refused(model, settings, told):
    with pytest.raises(CompanionError) as refusal:
        check_parameters("toy", DEFAULTS, settings)
    assert "\n" not in str(refusal.value)
    for part in told:
        assert part in str(refusal.value)


def test_rules_on_several_parameters_see_them_together(model):
    assert check_parameters("toy", DEFAULTS, ["scale=gpu", "device=cuda"]) == {"scale": "gpu", "device": "cuda"}


def test_the_parameters_cell_is_read(tmp_path):
    cell = code('scale = "quick"  # how much\ndepths: list | None = None\nlr = -1e-3', "parameters")
    nb = read_source(checkout(tmp_path, toy=[cell]).source("toy"))
    assert read_parameters(nb) == {"scale": "quick", "depths": None, "lr": -1e-3}


@pytest.mark.parametrize(
    "source",
    ["a = b = 1", "a = open('x')", "import os", "a: int", "print(1)", "%matplotlib inline", "a = 1\n!ls", "a = (\nb"],
)
def test_a_parameters_cell_with_more_than_assignments_is_refused(tmp_path, source):
    nb = read_source(checkout(tmp_path, toy=[code(source, "parameters")]).source("toy"))
    with pytest.raises(CompanionError, match="name = 1") as refusal:
        read_parameters(nb)
    assert "\n" not in str(refusal.value)


def test_two_parameters_cells_are_refused_and_none_means_no_parameters(tmp_path):
    layout = checkout(tmp_path, two=[code("a = 1", "parameters")] * 2, none=[code("a = 1")])
    with pytest.raises(CompanionError, match="exactly one"):
        read_parameters(read_source(layout.source("two")))
    assert read_parameters(read_source(layout.source("none"))) == {}
