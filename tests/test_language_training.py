"""BERT and GPT-2 from scratch: runs repeat themselves, start where they say, learn, and diverge honestly."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from language_kit import own_cache, tiny_bert, tiny_gpt2  # noqa: F401 (a fixture)
from wavy.dynamics import KINDS, MIXED_KINDS
from wavy.hosts.bert import WavyBertLayer
from wavy.residual import Residual
from wavy.training import bert, corpora
from wavy.training.bert import build_bert, pretrained_bert, train_bert
from wavy.training.bert_metrics import bert_metrics, diagnosed_inputs, diagnosis
from wavy.training.gpt2 import build_gpt2, gpt2_metrics, run_blocks, train_gpt2
from wavy.training.masking import IGNORED
from wavy.training.weights import DivergedError, weights_file

TIMES = ("step_seconds", "step_cpu_seconds")
BOTH = pytest.mark.parametrize(
    ("tiny", "build", "train", "metrics"),
    [(tiny_bert, build_bert, train_bert, bert_metrics), (tiny_gpt2, build_gpt2, train_gpt2, gpt2_metrics)],
    ids=["bert", "gpt2"],
)


def residuals(model):
    return [module for module in model.modules() if isinstance(module, Residual)]


@BOTH
def test_a_run_gives_the_same_row_again_and_another_seed_another(tiny, build, train, metrics, own_cache):  # noqa: F811
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    first = metrics(tiny("mix_full", dropout=0.1))
    assert torch.equal(torch.rand(1), expected)
    second = metrics(tiny("mix_full", dropout=0.1))
    assert all(second[name] == value for name, value in first.items() if name not in TIMES)
    other = metrics(tiny("mix_full", dropout=0.1, seed=1))
    assert other["val_loss"] != first["val_loss"]
    assert other["val_guess_perplexity"] == first["val_guess_perplexity"]
    assert all(value is None or math.isfinite(value) for value in first.values())
    for part in ("val", "test"):
        assert first[f"{part}_perplexity"] == pytest.approx(math.exp(first[f"{part}_loss"]))
    assert first["cosine"] == first["cosine_2"] != first["init_cosine"]
    assert 0 <= first["gap"] <= 1
    assert first["growth"] >= 1 - 1e-6


@BOTH
@pytest.mark.parametrize("kind", KINDS)
def test_a_model_starts_where_its_run_says(tiny, build, train, metrics, kind):
    start = -2.0 if kind in MIXED_KINDS else None
    model = build(tiny(kind, tau=0.25, theta_init=start, depth=3))
    found = residuals(model)
    assert [(layer.kind, layer.tau, layer.form) for layer in found] == [(kind, 0.25, "stock")] * 3
    thetas = [layer.theta for layer in found if layer.theta is not None]
    assert len(thetas) == (3 if kind in MIXED_KINDS else 0)
    assert all((theta == -2).all() for theta in thetas)
    same, other = build(tiny(kind, theta_init=start, depth=3)), build(tiny(kind, theta_init=start, depth=3, seed=1))
    weights = [next(iter(dict(one.named_parameters()).values())) for one in (model, same, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_diffusion_with_the_default_step_is_berts_own_layer():
    from transformers.models.bert.modeling_bert import BertLayer  # noqa: PLC0415

    layer = next(module for module in build_bert(tiny_bert()).eval().modules() if isinstance(module, WavyBertLayer))
    x = torch.randn(2, 5, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    out = layer(x)
    layer.__class__ = BertLayer
    assert torch.equal(out if isinstance(out, torch.Tensor) else out[0], layer(x))


@pytest.mark.parametrize("kind", ["diffusion", "full", "light"])
def test_bert_beats_the_unigrams_of_a_tiny_text(kind, own_cache):  # noqa: F811
    found = bert_metrics(tiny_bert(kind, steps=300, lr=1e-2, batch_size=16))
    assert found["val_perplexity"] < 0.98 * found["val_guess_perplexity"]


@pytest.mark.parametrize("kind", ["diffusion", "full", "light"])
def test_gpt2_beats_the_unigrams_of_a_tiny_text(kind):
    found = gpt2_metrics(tiny_gpt2(kind, steps=150, lr=1e-2, batch_size=16))
    assert found["val_perplexity"] < 0.9 * found["val_guess_perplexity"]


def test_special_tokens_are_read_but_not_predicted():
    blocks = run_blocks(tiny_gpt2(), "train")
    special = torch.isin(blocks.ids, torch.arange(5))
    assert special.any()
    assert (blocks.labels[special] == IGNORED).all()
    assert torch.equal(blocks.labels[~special], blocks.ids[~special])


@BOTH
def test_a_run_that_diverges_has_no_scores(tiny, build, train, metrics, own_cache, caplog):  # noqa: F811
    found = metrics(tiny(lr=1e300, clip=1e300, warmup=0.0))
    assert found["diverged"] == 1
    assert "allowed finite numbers; there is no checkpoint" in caplog.text
    empty = {"last_loss", "step_seconds", "val_loss", "test_perplexity", "cosine", "gap"}
    assert all(found[name] is None for name in empty)
    assert found["val_guess_perplexity"] > 1
    assert not own_cache.exists() or not list(own_cache.rglob("*.safetensors"))


def test_weights_are_kept_for_what_starts_from_them(own_cache):  # noqa: F811
    run = tiny_bert("light")
    trained = pretrained_bert(run)
    assert weights_file(run).exists()
    assert weights_file(run) != weights_file(tiny_bert("light", seed=1))
    stamp = weights_file(run).stat().st_mtime_ns
    again = pretrained_bert(run)
    assert weights_file(run).stat().st_mtime_ns == stamp
    weights = trained.state_dict()
    assert all(torch.equal(value, weights[name]) for name, value in again.state_dict().items())
    start = build_bert(run).state_dict()
    assert not torch.equal(start["bert.cls.seq_relationship.weight"], weights["bert.cls.seq_relationship.weight"])
    with pytest.raises(ValueError, match="weights: found a run that diverges"):
        pretrained_bert(tiny_bert(lr=1e300, clip=1e300, warmup=0.0))


def test_a_run_goes_on_from_the_weights_of_another(own_cache, monkeypatch):  # noqa: F811
    short = tiny_bert("full", length=10, positions=24)
    run = tiny_bert("full", positions=24, start=short)
    before = pretrained_bert(short)
    assert all(torch.equal(*pair) for pair in zip(build_bert(run).parameters(), before.parameters(), strict=True))
    metrics = bert_metrics(run)
    # What it is read on, and how it does before its own training, is of its own length.
    assert metrics["init_cosine"] == pytest.approx(diagnosis(before, diagnosed_inputs(run), run)["cosine"])
    assert metrics["val_loss"] != bert_metrics(short)["val_loss"]
    # Its weights serve alone.
    weights_file(short).unlink()
    monkeypatch.setattr(bert, "train_bert", None)
    assert pretrained_bert(run).bert.config.max_position_embeddings == 24


def test_what_starts_from_a_run_that_diverges_has_diverged(own_cache, monkeypatch):  # noqa: F811
    start = tiny_bert(lr=1e30, clip=1e30)
    run = tiny_bert(start=start)
    assert bert_metrics(run) == {"diverged": 1}
    # It is known from then on, and not tried again.
    monkeypatch.setattr(bert, "train_bert", None)
    with pytest.raises(DivergedError, match="weights: found a run that diverges"):
        build_bert(run)


def test_what_a_run_starts_from_is_trained_on_its_device(own_cache, monkeypatch):  # noqa: F811
    asked = []

    def pretrained(run, device):
        asked.append(device)
        return bert._new_bert(run)

    monkeypatch.setattr(bert, "pretrained_bert", pretrained)
    build_bert(tiny_bert(start=tiny_bert()), "cuda")
    assert asked == ["cuda"]


def test_looking_at_a_model_while_it_trains_changes_nothing():
    run = tiny_bert("full", dropout=0.1)
    plain, looked = train_bert(run), train_bert(run, read_every=2)
    assert len(plain.evaluations) == 0
    assert looked.evaluations["step"].tolist() == [2, 4]
    assert looked.evaluations["hidden_perplexity"].gt(1).all()
    assert looked.history["loss"].tolist() == plain.history["loss"].tolist()
    assert all(torch.equal(*pair) for pair in zip(looked.model.parameters(), plain.model.parameters(), strict=True))


def test_a_stopped_training_goes_on_from_its_folder(tmp_path):
    run = tiny_bert("light")
    train_bert(run, folder=tmp_path, every=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-000000002", "step-000000004"]
    whole = train_bert(run)
    again = train_bert(run, folder=tmp_path, every=2)
    assert again.history.equals(whole.history)


@BOTH
def test_a_long_run_tells_its_progress_and_goes_on_from_the_cache(
    tiny,
    build,
    train,
    metrics,
    own_cache,  # noqa: F811
    monkeypatch,
    capsys,
):
    run = tiny()
    short = metrics(run)
    assert "step" not in capsys.readouterr().out
    monkeypatch.setattr("wavy.training.long_runs.LONG", {run.dataset})
    monkeypatch.setattr("wavy.training.language.EVERY", 3)
    first = metrics(run)
    assert f"step {run.steps}/{run.steps}" in capsys.readouterr().out
    kept = sorted(path.name for path in own_cache.glob(f"checkpoints/{run.experiment}-*/step-*"))
    assert kept == ["step-000000003", "step-000000004"]
    again = metrics(run)
    assert [again[name] for name in TIMES] == [None, None]
    for other in (first, again):
        assert {name: value for name, value in other.items() if name not in TIMES} == {
            name: value for name, value in short.items() if name not in TIMES
        }


@BOTH
def test_half_precision_trains_and_is_measured(tiny, build, train, metrics, own_cache):  # noqa: F811
    half, single = (metrics(tiny("full", precision=precision)) for precision in ("bf16", "float32"))
    assert half["val_loss"] == pytest.approx(single["val_loss"], rel=0.02)
    assert half["val_loss"] != single["val_loss"]


def test_a_streamed_text_is_read_up_to_its_limit(monkeypatch):
    def endless(name, split, limit=None):
        assert limit is None
        return (f"{split} document {number} of many characters" for number in itertools.count())

    monkeypatch.setattr(corpora, "load_text", endless)
    corpora._documents.cache_clear()
    run = tiny_gpt2(dataset="openwebtext", limit=4000)
    try:
        lengths = {split: sum(map(len, corpora.run_documents(run, split))) for split in ("train", "valid", "test")}
    finally:
        corpora._documents.cache_clear()
    assert 4000 <= lengths["train"] < 4100
    assert all(200 <= lengths[split] < 300 for split in ("valid", "test"))
