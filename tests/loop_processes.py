"""Runs in one process or several: ``torchrun loop_processes.py FOLDER`` writes what each process has found."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import torch
from torch import nn

from loop_kit import Pictures, Points, Sentences, Stop, bert, deit, losses, net, stopping, train, weights
from pretraining_kit import pretraining
from sharding_kit import HAS_FSDP_2, sharded
from wavy.training.loop import ClassTask, NonFinite, Setup, TokenTask


class Positions(ClassTask):
    """Measures the sum of position times first coordinate: another order, or an example twice, gives another."""

    def outputs(self, model, batch):
        return {"first": batch["input"][:, 0]}

    def metrics(self, outputs):
        first = outputs["first"].double()
        return {"examples": len(first), "sum": (torch.arange(len(first)) * first).sum().item()}


class Spoiled(Points):
    """One example is no number."""

    def __getitem__(self, index):
        item = super().__getitem__(index)
        return item | {"input": item["input"] * (float("nan") if index == 5 else 1.0)}


class Unused(nn.Module):
    """A net with a parameter that no step uses."""

    def __init__(self):
        super().__init__()
        self.net, self.unused = net(), nn.Parameter(torch.ones(3))

    def forward(self, input):
        return self.net(input)


def words(kind, **options):
    model, setup = bert(kind), Setup(micro_batch_size=2, device="cpu")
    if options.pop("checkpointing", False):
        model.gradient_checkpointing_enable()
    return train(setup, model, TokenTask(causal=False), Sentences(), validation=Sentences(11, 5), eps=1e-4, **options)


def pictures(kind):
    model = deit(kind)
    model.set_grad_checkpointing()
    return train(Setup(device="cpu"), model, data=Pictures(), validation=Pictures(7), eps=1e-4)


#: Runs that give the same in one process and in two.
ALIKE = {
    "bert light": lambda: words("light"),
    "bert mix_full, checkpointed": lambda: words("mix_full", checkpointing=True),
    "pre-training light": lambda: pretraining("light", nsp=True),
    "pre-training mix_full without pairs": lambda: pretraining("mix_full", nsp=False),
    "deit light, checkpointed": lambda: pictures("light"),
    "deit full, checkpointed": lambda: pictures("full"),
    "pre-training full": lambda: pretraining("full", nsp=True),
    "random data": lambda: train(data=Points(noise=True)),
    "unused parameter": lambda: train(Setup(find_unused_parameters=True), Unused()),
    "evaluation": lambda: train(Setup(micro_batch_size=3), task=Positions(), validation=Points(23)),
}
#: Those of them that are sharded, and the class of the layers that are sharded each on its own.
SHARDED = [
    ("deit light, checkpointed", None),
    ("pre-training light", None),
    ("deit full, checkpointed", "WavyViTBlock"),
    ("pre-training full", "WavyBertLayer"),
    ("pre-training mix_full without pairs", "WavyBertLayer"),
]


def found(run):
    run = run()
    return run.history.to_numpy(), run.evaluations.to_numpy(), weights(run.model)


def resumed(folder):
    """Whether a run that stops and goes on finds the same, bit for bit, with dropout."""
    once = train(model=net(0.3))
    setup = Setup(folder=folder, checkpoint_every=2)
    try:
        with stopping(ClassTask(), after=5) as task:
            train(setup, net(0.3), task)
    except Stop:
        twice = train(setup, net(0.3))
        same = torch.equal(weights(once.model), weights(twice.model))
        return same and losses(once) == losses(twice)


def error(call, kind):
    try:
        call()
    except kind as raised:
        return str(raised)


def spoiled():
    """How a run ends in which a loss is no number, and the weights that it leaves."""
    model = net()
    return error(lambda: train(model=model, data=Spoiled()), NonFinite), weights(model)


def lines():
    said = []
    train(report=said.append)
    return said


def apart(folder):
    """A run goes on whose checkpoints one process does not see."""
    rank = int(os.environ["RANK"])
    train(Setup(folder=folder / "shared"), steps=3)
    train(Setup(folder=folder / ("shared" if rank == 0 else "elsewhere")), steps=3)


def others(folder):
    """What concerns several processes alone."""
    results = {
        "resumed": resumed(folder / "resumed"),
        "spoiled": spoiled(),
        "uneven": error(lambda: train(batch_size=7), ValueError),
        "lines": lines(),
        "apart": error(lambda: apart(folder), ValueError),
    }
    if HAS_FSDP_2:
        results["sharded"] = {
            (name, layer): sharded(lambda name=name: found(ALIKE[name]), layer) for name, layer in SHARDED
        }
        results["sharded spoiled"] = sharded(spoiled)
        results["sharded resumed"] = sharded(lambda: resumed(folder / "sharded"))
    return results


if __name__ == "__main__":
    torch.set_num_threads(1)
    results = {name: found(run) for name, run in ALIKE.items()} | others(Path(sys.argv[1]))
    torch.save(results, Path(sys.argv[1]) / f"{torch.distributed.get_rank()}.pt")
    torch.distributed.destroy_process_group()
