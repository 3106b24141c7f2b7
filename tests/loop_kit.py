"""Tiny data, models and tasks for the tests of the training loop."""

from __future__ import annotations

import json
import random
from contextlib import contextmanager

import numpy as np
import torch
from torch import nn
from torch.utils.data import Dataset

from wavy.training.loop import ClassTask, Recipe, fit

WORDS = 30


class Points(Dataset):
    """Points in two classes; with ``noise`` each visit draws from the generators of Python, numpy and torch."""

    def __init__(self, size=37, noise=False):
        generator = torch.Generator().manual_seed(7)
        self.x = torch.randn(size, 5, generator=generator)
        self.noise = noise

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        x = self.x[index]
        drawn = torch.rand(5) + random.random() + np.random.rand() if self.noise else 0.0
        return {"input": x + drawn, "labels": int(x.sum() > 0)}


class Sentences(Dataset):
    """Random tokens, of which very different numbers have labels."""

    def __init__(self, size=14, length=6):
        generator = torch.Generator().manual_seed(3)
        self.tokens = torch.randint(3, WORDS, (size, length), generator=generator)

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        ids = self.tokens[index]
        labels = ids.masked_fill(torch.arange(len(ids)) > index % len(ids), -100)
        return {"input_ids": ids, "labels": labels}


class Pictures(Dataset):
    """Random images of 16 x 16 pixels in 5 classes."""

    def __init__(self, size=14):
        self.images = torch.randn(size, 3, 16, 16, generator=torch.Generator().manual_seed(4))

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        return {"x": self.images[index], "labels": index % 5}


def net(dropout=0.0):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Dropout(dropout), nn.Linear(8, 2))


def bert(kind, head="WavyBertForMaskedLM", **options):
    """A BERT of two layers without dropout, with a head by the name of its class."""
    from wavy.hosts import bert as hosts  # noqa: PLC0415

    torch.manual_seed(0)
    small = {
        "vocab_size": WORDS, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2,
        "intermediate_size": 12, "max_position_embeddings": 8,
        "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
    }  # fmt: skip
    return getattr(hosts, head)(hosts.WavyBertConfig(residual=kind, **small | options))


def deit(kind, **options):
    """A DeiT of two layers without dropout."""
    import timm  # noqa: PLC0415

    import wavy.hosts.vit  # noqa: F401, PLC0415 (registers the name)

    torch.manual_seed(0)
    small = {"img_size": 16, "patch_size": 8, "embed_dim": 12, "depth": 2, "num_heads": 3, "num_classes": 5}
    return timm.create_model("wavy_deit_tiny_patch16_224", residual=kind, **small | options)


def recipe(**options):
    return Recipe(**{"steps": 6, "batch_size": 8, "lr": 1e-2} | options)


def train(setup=None, model=None, task=None, data=None, **options):
    """``fit`` in silence, of the tiny net unless told otherwise."""
    own = {name: options.pop(name) for name in ("validation", "collate", "params_hash", "report") if name in options}
    task, data = task or ClassTask(), Points() if data is None else data
    return fit(model or net(), task, data, recipe(**options), setup, **{"report": None} | own)


def losses(found):
    return found.history["loss"].tolist()


def weights(model):
    """All weights as one vector."""
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


class Stop(Exception):
    """What :func:`stopping` raises."""


@contextmanager
def stopping(task, after):
    """Let a task raise :class:`Stop` when the loss is asked for once more than ``after`` times."""
    asked, loss = 0, task.loss

    def counted(*arguments):
        nonlocal asked
        asked += 1
        if asked > after:
            raise Stop
        return loss(*arguments)

    task.loss = counted
    try:
        yield task
    finally:
        del task.loss


def without_sums(checkpoint):
    """Make a checkpoint one of earlier versions, in which damage is not noticed by sums."""
    record = json.loads((checkpoint / "run.json").read_text())
    del record["sums"], record["sum"]
    (checkpoint / "run.json").write_text(json.dumps(record))
