"""One run on images: the model that it builds, its training, and the diagnosis of what was trained."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

pytest.importorskip("timm")
pytest.importorskip("accelerate")

from wavy.data.images import ImageData, LazyImages
from wavy.diagnostics import mean_cosine
from wavy.experiments.deit_plans import deit_run
from wavy.training.deit import run_images, train_deit
from wavy.training.deit_metrics import deit_metrics, diagnosed_images, diagnosis, mean_lambda
from wavy.training.image_models import build_image_model
from wavy.training.image_state import attention_matrix, class_measures, image_profile

TINY = {"depth": 2, "dim": 16, "patch_size": 4, "images": 200, "epochs": 1}
TIMES = ("step_seconds", "step_cpu_seconds")


def tiny(residual="diffusion", **options):
    return deit_run("quick", residual, **(TINY | options))


def built(run):
    return build_image_model(run, 10, 8)


@pytest.fixture(scope="module")
def digits():
    return run_images(tiny())["test"]


def test_the_same_run_gives_the_same_weights_and_leaves_the_global_seed_alone():
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    first = built(tiny("light")).state_dict()
    assert torch.equal(torch.rand(1), expected)
    second, other = built(tiny("light")).state_dict(), built(tiny("light", seed=1)).state_dict()
    assert all(torch.equal(value, second[name]) for name, value in first.items())
    assert not torch.equal(first["head.weight"], other["head.weight"]) or not torch.equal(
        first["blocks.0.attn.qkv.weight"], other["blocks.0.attn.qkv.weight"]
    )


def test_images_that_are_not_cut_evenly_into_patches_are_refused():
    with pytest.raises(ValueError, match=r"^patch_size: found 4, allowed a divisor of the side of the images = 10$"):
        build_image_model(tiny(), 10, 10)


def test_kinds_start_from_the_same_weights_so_that_pairs_of_runs_share_more_than_data():
    stock = built(tiny()).state_dict()
    for options in ({"residual": "full"}, {"residual": "light"}, {"featscale": True}):
        other = built(tiny(**options)).state_dict()
        assert all(torch.equal(value, other[name]) for name, value in stock.items()), options


def test_the_model_has_what_the_run_says():
    mix = built(tiny("mix_full", theta_init=-8.0, velocity_mlp=False, featscale=True))
    for block in mix.blocks:
        assert (block.residual.kind, block.residual.tau, block.residual.form) == ("mix_full", 0.5, "stock")
        assert (block.residual.theta == -8).all()
        assert block.featscale is not None
        assert not block.velocity_mlp
    assert mean_lambda(mix) == pytest.approx(1 / (1 + math.exp(8)))
    assert mean_lambda(built(tiny("light"))) == 0.5
    assert mean_lambda(built(tiny("full"))) is None
    cait = built(tiny("full", model="cait"))
    assert (type(cait).__name__, len(cait.blocks), cait.blocks[0].residual.kind) == ("WavyCait", 2, "full")
    assert built(tiny(precision="float32")).head.weight.dtype == torch.float32
    assert mix.head.weight.dtype == torch.float64


def test_a_mix_that_starts_at_minus_eight_is_almost_diffusion(digits):
    pixels, _ = diagnosed_images(tiny(), digits)

    def logits(*args, **options):
        model = built(tiny(*args, **options)).eval()
        torch.manual_seed(0)
        torch.nn.init.normal_(model.head.weight)
        return model(pixels)

    with torch.no_grad():
        stock, low, half = logits(), logits("mix_full", theta_init=-8.0), logits("mix_full", theta_init=0.0)
    assert (low - stock).norm() < 0.01 * stock.norm()
    assert (half - stock).norm() > 10 * (low - stock).norm()


@pytest.mark.parametrize(
    "options",
    [
        {"residual": "mix_full", "theta_init": -8.0},
        {"residual": "full", "velocity_mlp": False},
        {"residual": "full", "model": "cait"},
        {"residual": "neutreno", "tau": None},
        {"residual": "light", "precision": "bf16", "patch_size": 2},
        {"augmentation": "deit", "batch_size": 30, "drop_path": 0.1, "precision": "float32"},
    ],
    ids=str,
)
def test_a_run_has_one_row_the_same_each_time(options):
    run = tiny(**options)
    first, second = deit_metrics(run), deit_metrics(run)
    for name in TIMES:
        assert first.pop(name) > 0 < second.pop(name)
    assert first == second
    assert all(value is None or math.isfinite(value) for value in first.values())
    talking, remedy = run.model == "cait", run.tau is None
    none = {"lambda_mean"} if run.theta_init is None else set()
    none |= {"gap", "growth", "init_gap", "init_growth"} if talking else set()
    none |= {"growth", "init_growth"} if remedy else set()
    assert {name for name, value in first.items() if value is None} == none
    assert first["parameters"] == sum(p.numel() for p in built(run).parameters())
    assert (first["diverged"], first["guess_accuracy"]) == (0, pytest.approx(0.1, abs=0.01))
    assert [f"cosine_{layer}" in first for layer in range(4)] == [True, True, True, False]
    assert first["cosine"] == first["cosine_2"] != first["init_cosine"]


def test_another_seed_trains_another_model():
    first, second = (train_deit(tiny(seed=seed)).metrics for seed in (0, 1))
    assert first["last_loss"] != second["last_loss"]


@pytest.mark.parametrize("residual", ["diffusion", "light", "full", "skipinit"])
def test_a_short_training_beats_the_largest_class(residual):
    tau = {"tau": None} if residual == "skipinit" else {}
    fit = train_deit(tiny(residual, images=None, epochs=4, lr=6e-3, **tau))
    # Ten classes of equal size.
    assert fit.metrics["test_accuracy"] > 0.25
    assert len(fit.history) == 4 * round(1293 / 32)
    assert fit.metrics["last_loss"] == pytest.approx(fit.history["loss"].tail(40).mean())
    assert not fit.model.training


def test_a_loss_that_is_not_finite_is_told_and_nothing_is_made_up(caplog):
    metrics = deit_metrics(tiny(lr=1e30, clip=None, warmup_epochs=0.0, precision="float32"))
    assert metrics["diverged"] == 1
    assert "allowed finite numbers; there is no checkpoint" in caplog.text
    assert metrics["last_loss"] is metrics["test_accuracy"] is metrics["train_loss"] is None
    assert "cosine" not in metrics


def test_a_run_goes_on_from_its_folder(tmp_path):
    run, told = tiny(), []
    first = train_deit(run, folder=tmp_path, report=told.append)
    assert any(tmp_path.iterdir())
    assert "step 6/6" in told[-1]
    again = train_deit(run, folder=tmp_path)
    assert again.history.equals(first.history)
    assert again.metrics["test_loss"] == first.metrics["test_loss"]


def test_large_images_stay_files_and_a_long_run_tells_its_progress_and_leaves_checkpoints(
    tmp_path, monkeypatch, capsys
):
    kit, found = pytest.importorskip("image_kit"), []

    def folder(name, split):
        """Images of many sizes, as those of ImageNet are."""
        files = [kit.encoded(kit.rgb(20 * k, 90, 0, size=(40 + k, 70 - k))) for k in range(12)]
        labels, third = np.arange(12) % 3, (0.5,) * 3
        found.append((name, split))
        return ImageData(name, split, LazyImages(files), labels, tuple("abc"), third, third, True, "test")

    monkeypatch.setattr("wavy.training.deit.load_images", folder)
    monkeypatch.setenv("WAVY_CACHE", str(tmp_path))
    run = deit_run("paper", depth=2, dim=16, heads=2, size=48, epochs=2, batch_size=6, precision="float32")
    metrics = deit_metrics(run)
    assert found == [("imagenet", split) for split in ("train", "validation", "test")]
    # An epoch is so many versions as there are images: two steps of six, of two images each.
    assert "step 4/4" in capsys.readouterr().out
    kept = sorted(path.name for path in tmp_path.glob("checkpoints/deit-*/step-*"))
    assert kept == ["step-000000002", "step-000000004"]
    assert 0 <= metrics["test_accuracy"] <= 1
    assert metrics["guess_accuracy"] == pytest.approx(1 / 3)


def test_the_attention_matrix_is_the_one_that_timm_computes():
    attention = built(tiny()).blocks[0].attn
    x = torch.randn(3, 5, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    matrix = attention_matrix(attention, x)
    assert torch.allclose(matrix.sum(dim=-1), torch.ones(3, 2, 5, dtype=torch.float64))
    value = attention.qkv(x).unflatten(-1, (3, 2, 8)).permute(2, 0, 3, 1, 4)[2]
    expected = attention.proj((matrix @ value).transpose(1, 2).flatten(2))
    assert torch.allclose(attention(x), expected)


def test_states_are_measured_from_before_the_first_block_to_after_the_last(digits):
    model, (pixels, _) = built(tiny("full")).eval(), diagnosed_images(tiny(), digits)
    profile = image_profile(model, pixels)
    with torch.no_grad():
        first = model._pos_embed(model.patch_embed(pixels))
        last = model.norm(model.blocks(first))
    assert profile["module"].tolist() == ["pos_drop", "blocks.0", "blocks.1", "norm"]
    assert profile["cosine"].iloc[0] == pytest.approx(mean_cosine(first).mean().item())
    assert profile["cosine"].iloc[-1] == pytest.approx(mean_cosine(last).mean().item())
    measures = diagnosis(model, tiny("full"), digits)
    assert measures["energy_ratio"] != 1
    assert 0 <= measures["gap"] <= 1 <= measures["growth"] + 1e-9


def test_classes_are_measured_on_what_the_head_reads():
    class Named(torch.nn.Module):
        """Features that are known: each image's own number, twice."""

        def forward_features(self, pixels):
            return pixels

        def forward_head(self, features, pre_logits):
            assert pre_logits
            return features.flatten(1)

    pixels = torch.tensor([[0.0, 0.0], [2.0, 2.0], [5.0, 5.0], [5.0, 5.0]])
    found = class_measures(Named(), pixels, torch.tensor([0, 0, 1, 1]))
    # Class means 1 and 5 around 3; within, 1 for the first class alone.
    assert found == {"inter_class_variance": pytest.approx(4.0), "inter_class_share": pytest.approx(4 / 4.5)}


def test_all_models_are_diagnosed_on_the_same_test_images_of_every_class(digits):
    first, labels = diagnosed_images(tiny(), digits)
    second, _ = diagnosed_images(tiny("full", seed=7), digits)
    assert torch.equal(first, second)
    assert np.bincount(labels).min() >= 35
    assert first.dtype == torch.float64
