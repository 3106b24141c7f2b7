"""The parameters of the language experiments: what is refused, the order of runs, and what a row is named by."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from wavy import rowfile
from wavy.dynamics import MIXED_KINDS
from wavy.experiments.bert import BertRun, BertStudy
from wavy.experiments.bert_plans import CLAIMED, bert_run
from wavy.experiments.glue import GlueRun, GlueStudy
from wavy.experiments.gpt2 import Gpt2Run, Gpt2Study
from wavy.results import make_row, run_hash
from wavy.sweep.progress import Progress, training_cost

STUDIES = (BertStudy, GlueStudy, Gpt2Study)
every_study = pytest.mark.parametrize("study", STUDIES)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"theta_init": 0.0}, "'diffusion' has no lambda"),
        ({"heads": 3}, "heads: found 3, allowed a divisor of dim 128"),
        ({"tau": 1.0}, "tau: found 1 in the form stock"),
        ({"dataset": "wikitext103"}, "dataset"),
        ({"masked": 0.0}, "masked"),
        ({"dropuot": 0.1}, "dropuot"),
    ],
)
def test_a_run_that_cannot_be_is_refused(options, words):
    with pytest.raises(ValidationError, match=words):
        BertRun(**options)
    assert BertRun(tau=1.0, form="euler").tau == 1


def test_a_model_has_places_for_all_that_it_reads():
    with pytest.raises(ValidationError, match="positions: found 5, allowed 64 or more"):
        BertRun(positions=5)
    assert (BertRun().places, BertRun(positions=80).places) == (64, 80)
    with pytest.raises(ValidationError, match="length: found 64, allowed 10 or less, the places of the model"):
        GlueRun(pretraining=BertRun(length=10))
    assert GlueRun(pretraining=BertRun(length=10, positions=64)).length == 64


@every_study
@pytest.mark.parametrize("scale", ["quick", "cpu", "gpu", "paper"])
def test_runs_differ_and_seeds_are_outermost(study, scale):
    runs = study(scale=scale).runs()
    assert len({run_hash(run) for run in runs}) == len(runs)
    seeds = [run.seed for run in runs]
    assert seeds == sorted(seeds)
    per_seed = [run for run in runs if run.seed == seeds[0]]
    assert len(per_seed) * len(set(seeds)) == len(runs)


@every_study
def test_all_kinds_share_all_but_the_kind(study):
    runs = study(scale="cpu", seeds=(0,)).runs()
    apart = {"residual", "theta_init"}
    models = {getattr(run, "pretraining", run) for run in runs}
    by_depth = {}
    for model in models:
        by_depth.setdefault(model.depth, set()).add(str(model.model_dump(exclude=apart | {"start"})))
        assert (model.theta_init is not None) == (model.residual in MIXED_KINDS)
    assert all(len(settings) == 1 for settings in by_depth.values())


@every_study
def test_a_value_given_twice_is_refused(study):
    with pytest.raises(ValidationError, match=r"found light more than once, allowed each value once"):
        study(residuals=("light", "light"))


def test_the_paper_scale_is_the_published_recipe():
    run = BertStudy(scale="paper").runs()[0]
    published = {
        "dim": 256, "depth": 24, "heads": 4, "mlp_dim": 1024, "length": 128, "vocab_size": 30_522, "dropout": 0.1,
        "masked": 0.15, "nsp": True, "lr": 5e-5, "weight_decay": 0.01, "warmup": 0.1, "precision": "fp16", "clip": 1.0,
        "steps": 100_000,
    }  # fmt: skip
    assert {name: getattr(run, name) for name in published} == published
    tuned = GlueStudy(scale="paper").runs()[0]
    assert (tuned.epochs, tuned.batch_size, tuned.lr, tuned.weight_decay) == (3, 32, 5e-5, 0.1)
    assert tuned.pretraining == run


def test_a_deep_plan_is_narrow():
    wide, deep = (bert_run("full", "cpu", plan) for plan in ("kinds", "deep"))
    assert deep.depth == 48
    assert deep.depth > wide.depth
    assert deep.dim < wide.dim
    assert {run.depth for run in BertStudy(scale="cpu", plan="deep").runs()} == {48}
    assert {run.seed for run in BertStudy(scale="cpu", plan="deep").runs()} == {0, 1}
    assert {run.seed for run in BertStudy(scale="cpu", plan="deep", seeds=(3,)).runs()} == {3}


@pytest.mark.parametrize("scale", ["quick", "cpu", "gpu"])
def test_a_longer_run_goes_on_from_the_scales_own_and_reads_as_much_as_the_task(scale):
    runs = BertStudy(scale=scale, plan="longer", seeds=(1,)).runs()
    assert [run.start for run in runs] == [bert_run(kind, scale, seed=1) for kind in CLAIMED]
    tuned = GlueStudy(scale=scale).runs()[0]
    assert {run.length for run in runs} == {tuned.length} == {tuned.pretraining.length}
    assert {run.batch_size * run.length for run in runs} == {run.start.batch_size * run.start.length for run in runs}
    assert BertStudy(scale="cpu", plan="longer", seeds=(1,), steps=7).runs()[0].start.steps == 3000


def test_where_a_run_cannot_go_on():
    with pytest.raises(ValidationError, match="start: found a run with depth 2, allowed one with 12"):
        BertRun(start=BertRun(depth=2))
    with pytest.raises(ValidationError, match="start: found a run with places 10, allowed one with 64"):
        BertRun(start=BertRun(length=10))
    with pytest.raises(ValidationError, match="plan: found longer at scale paper, allowed at quick, cpu, gpu"):
        BertStudy(scale="paper", plan="longer")


def test_the_start_of_a_run_is_a_part_of_its_name():
    short = BertRun(length=10, positions=64)
    assert run_hash(short) == run_hash(short.model_copy(update={"start": None}))
    assert len({run_hash(BertRun(positions=64, start=start)) for start in (None, short, BertRun(positions=64))}) == 3


def test_the_search_is_the_same_for_all_kinds_and_holds_the_rate_of_the_scale():
    runs = BertStudy(scale="cpu", plan="search").runs()
    rates = {kind: [run.lr for run in runs if run.residual == kind] for kind in CLAIMED}
    assert len({tuple(tried) for tried in rates.values()}) == 1
    for kind in CLAIMED:
        chosen = bert_run(kind, "cpu")
        assert chosen.lr in rates[kind]
        own = [run for run in runs if run.residual == kind]
        assert {run.model_copy(update={"lr": chosen.lr}) for run in own} == {chosen}
    tuned = GlueStudy(scale="cpu", plan="search").runs()
    assert {run.residual for run in tuned} == {"diffusion"}
    assert GlueStudy(scale="cpu").runs()[0].lr in {run.lr for run in tuned}
    assert len({run.dataset for run in tuned}) == 1
    decoders = Gpt2Study(scale="cpu", plan="search").runs()
    assert len({run.lr for run in decoders}) == len(decoders) == 5
    assert {run.residual for run in decoders} == {"diffusion"}
    assert set(decoders) & set(Gpt2Study(scale="cpu").runs())


def test_steps_can_be_set_for_all_runs():
    assert {run.steps for run in BertStudy(steps=7).runs()} == {7}
    assert {run.steps for run in Gpt2Study(steps=7).runs()} == {7}


def test_glue_is_named_by_its_task_and_the_model_it_starts_from():
    run = GlueRun(dataset="rte", pretraining=BertRun(residual="full", depth=3, tau=0.25), seed=4)
    assert (run.dataset, run.residual, run.depth, run.tau, run.seed) == ("rte", "full", 3, 0.25, 4)
    other = GlueRun(dataset="rte", pretraining=BertRun(residual="full", depth=3, tau=0.25, lr=1e-4), seed=4)
    assert run_hash(run) != run_hash(other)
    assert run_hash(BertRun()) != run_hash(Gpt2Run())
    study = GlueStudy(scale="cpu", seeds=(2,))
    assert {(run.seed, run.pretraining.seed) for run in study.runs()} == {(2, 2)}
    assert {run.pretraining for run in study.runs()} <= set(BertStudy(scale="cpu", plan="longer", seeds=(2,)).runs())


@every_study
def test_a_row_can_be_read_again(study, tmp_path):
    run = study(scale="cpu").runs()[1]
    row = make_row(run, "cpu", {"score": 1.0}, 1.0, "cpu")
    assert rowfile.append(tmp_path / "rows.jsonl", row)
    assert rowfile.find(tmp_path / "rows.jsonl", run_hash(run)) == row


def test_a_line_of_progress_about_glue_is_short():
    runs = {run_hash(run): run for run in GlueStudy(scale="cpu").runs()}
    assert max(len(Progress(runs, training_cost).name(name)) for name in list(runs)[:3]) < 120
