"""The stock models that are measured, and their inputs; wavy ones are made of them by ``wavy.wavify``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import timm
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel

import wavy


@dataclass(frozen=True)
class Case:
    """A model to measure.

    Args:
        make: builds the stock model.
        inputs: one batch, for a number of examples.
        loss: of model and batch.
        batch: examples a step.
        settings: what a reader must know of the sizes.
        rounds: repeats of a measurement of time.
    """

    make: Callable[[], nn.Module]
    inputs: Callable[[int], Tensor]
    loss: Callable[[nn.Module, Tensor], Tensor]
    batch: int
    settings: str
    rounds: int = 9


def _classes(model: nn.Module, images: Tensor) -> Tensor:
    labels = torch.arange(len(images)) % 1000
    return F.cross_entropy(model(images), labels)


def _words(model: nn.Module, ids: Tensor) -> Tensor:
    return model(ids, labels=ids).loss


def _vit(**size: object) -> nn.Module:
    return timm.create_model("deit_tiny_patch16_224", **size)


def _bert(**size: object) -> nn.Module:
    """The paper's BERT; ``size`` for smaller ones."""
    shape = {"hidden_size": 256, "num_hidden_layers": 24, "num_attention_heads": 4, "intermediate_size": 1024}
    return BertForMaskedLM(BertConfig(**shape | size))


def _gpt2(**size: object) -> nn.Module:
    return GPT2LMHeadModel(GPT2Config(**{"n_embd": 256, "n_layer": 12, "n_head": 4} | size))


def _images(pixels: int) -> Callable[[int], Tensor]:
    return lambda batch: torch.randn(batch, 3, pixels, pixels, generator=torch.Generator().manual_seed(0))


def _ids(length: int, words: int) -> Callable[[int], Tensor]:
    return lambda batch: torch.randint(words, (batch, length), generator=torch.Generator().manual_seed(0))


CASES = {
    "DeiT-Ti": Case(_vit, _images(224), _classes, 8, "224 x 224 pixels, 12 layers, width 192", rounds=25),
    "BERT": Case(_bert, _ids(128, 30_522), _words, 8, "128 tokens, 24 layers, width 256, masked language model"),
    "GPT-2": Case(_gpt2, _ids(128, 50_257), _words, 8, "128 tokens, 12 layers, width 256"),
}

#: The same models in a size for tests.
TINY = {
    "DeiT-Ti": Case(
        lambda: _vit(img_size=32, embed_dim=24, depth=2, num_heads=3), _images(32), _classes, 2, "tiny, for tests"
    ),
    "BERT": Case(
        lambda: _bert(hidden_size=16, num_hidden_layers=2, intermediate_size=32, vocab_size=50),
        _ids(6, 50),
        _words,
        2,
        "tiny, for tests",
    ),
    "GPT-2": Case(
        lambda: _gpt2(n_embd=16, n_layer=2, n_head=2, vocab_size=50, bos_token_id=0, eos_token_id=0),
        _ids(6, 50),
        _words,
        2,
        "tiny, for tests",
    ),
}


def build(case: Case, kind: str) -> nn.Module:
    """The stock model (``kind`` is ``stock``), or one with a residual of that kind and the same weights."""
    torch.manual_seed(0)
    model = case.make()
    return model if kind == "stock" else wavy.wavify(model, kind)


def training_step(case: Case, model: nn.Module, batch: Tensor) -> Callable[[], None]:
    """One step of AdamW: forward, loss, backward, update."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)

    def step() -> None:
        model.train()
        case.loss(model, batch).backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def inference_step(model: nn.Module, batch: Tensor) -> Callable[[], None]:
    """One forward pass without gradients."""

    @torch.inference_mode()
    def step() -> None:
        model.eval()(batch)

    return step
