"""Tiny BERT and GPT-2 models, stock and wavy, for the tests of both hosts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import pytest
import torch

pytest.importorskip("transformers")

import transformers

from wavy.dynamics import KINDS
from wavy.hosts import bert, gpt2

VOCABULARY = 40
SMALL = {"vocab_size": VOCABULARY, "initializer_range": 0.3}


@dataclass(frozen=True, eq=False, repr=False)
class Family:
    """One host: its stock and wavy language model, and options that make both small."""

    stock: type
    wavy: type
    options: dict

    def stock_config(self, **options):
        return self.stock.config_class(**self.options | options)

    def config(self, kind, **options):
        return self.wavy.config_class(residual=kind, **self.options | options)

    def make_stock(self, head=None, **options):
        torch.manual_seed(0)
        return (head or self.stock)(self.stock_config(**options)).double().eval()

    def make(self, kind, head=None, **options):
        torch.manual_seed(0)
        return (head or self.wavy)(self.config(kind, **options)).double().eval()

    @cache  # noqa: B019 (a few models, for the length of the tests)
    def fixed(self, kind):
        """One model a kind, for tests that leave it as it is."""
        return self.make(kind)

    def alike(self, kind, stock, **options):
        """A wavy model with the weights of a stock one."""
        model = self.make(kind, **options)
        model.load_state_dict(stock.state_dict(), strict=False)
        return model


BERT = Family(
    transformers.BertForMaskedLM,
    bert.WavyBertForMaskedLM,
    SMALL
    | {
        "hidden_size": 16,
        "num_hidden_layers": 3,
        "num_attention_heads": 2,
        "intermediate_size": 24,
        "max_position_embeddings": 32,
    },
)
DECODER = Family(
    transformers.BertLMHeadModel,
    bert.WavyBertLMHeadModel,
    BERT.options | {"is_decoder": True, "bos_token_id": 1, "eos_token_id": 2},
)
GPT2 = Family(
    transformers.GPT2LMHeadModel,
    gpt2.WavyGPT2LMHeadModel,
    SMALL
    | {
        "n_embd": 16,
        "n_layer": 3,
        "n_head": 2,
        "n_inner": 24,
        "n_positions": 32,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 0,
    },
)

kinds = pytest.mark.parametrize("kind", KINDS)
families = pytest.mark.parametrize("family", [BERT, GPT2], ids=["bert", "gpt2"])
decoders = pytest.mark.parametrize("family", [DECODER, GPT2], ids=["bert", "gpt2"])


def tokens(batch=2, length=7):
    generator = torch.Generator().manual_seed(1)
    return torch.randint(3, VOCABULARY, (batch, length), generator=generator)


def close(a, b, atol=1e-10):
    return a.shape == b.shape and torch.allclose(a, b, atol=atol, rtol=1e-8)


def moved(norm, state, velocity):
    """LN_v of a velocity, written out."""
    return norm.weight * velocity / (state.var(-1, keepdim=True, correction=0) + norm.eps).sqrt()


def apart(out):
    """State and memory of what a layer hands on."""
    return out if isinstance(out, tuple) else (out, None)
