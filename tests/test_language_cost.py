"""The count of a run's products is what torch counts in its model."""

from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from language_kit import tiny_bert, tiny_gpt2
from wavy.dynamics import KINDS
from wavy.experiments.language_cost import forward_products, gpu_hours, training_flops
from wavy.training.bert import build_bert
from wavy.training.gpt2 import build_gpt2


def counted(call):
    counter = FlopCounterMode(display=False)
    with counter, torch.no_grad():
        call()
    return counter.get_total_flops() / 2


@pytest.mark.parametrize("kind", KINDS)
def test_bert(kind):
    run = tiny_bert(kind, depth=3)
    model = build_bert(run).eval()
    model.bert.set_attn_implementation("eager")
    ids = torch.zeros(1, run.length, dtype=torch.int64)
    predicted = torch.arange(run.length)[None] < round(run.masked * run.length)
    found = counted(lambda: model(ids, ids, torch.ones_like(ids), predicted))
    assert forward_products(run) == pytest.approx(found)


@pytest.mark.parametrize("kind", KINDS)
def test_gpt2(kind):
    run = tiny_gpt2(kind, depth=3)
    model = build_gpt2(run).eval()
    model.set_attn_implementation("eager")
    ids = torch.zeros(1, run.length, dtype=torch.int64)
    assert forward_products(run) == pytest.approx(counted(lambda: model(input_ids=ids)))


def test_cost_grows_with_steps_and_falls_with_the_card():
    run = tiny_bert()
    assert training_flops(run.model_copy(update={"steps": 2 * run.steps})) == 2 * training_flops(run)
    assert gpu_hours(3.6e15, 1e12, 0.5) == 2


def test_a_run_that_goes_on_costs_what_it_starts_from_too():
    run = tiny_bert()
    assert training_flops(tiny_bert(start=run)) == 2 * training_flops(run)
