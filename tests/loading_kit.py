"""What tests of loading share: small models in folders, and errors of one line."""

from __future__ import annotations

import re

import pytest
import torch

from wavy.hosts.difformer import DIFFormer


def difformer(kind="diffusion", **options):
    torch.manual_seed(0)
    return DIFFormer(5, 4, 3, num_layers=3, residual=kind, tau=0.3, **options).double().eval()


def bert(folder, **config):
    transformers = pytest.importorskip("transformers")
    small = {"vocab_size": 30, "hidden_size": 8, "num_hidden_layers": 3, "num_attention_heads": 2}
    config = transformers.BertConfig(**small, intermediate_size=16, max_position_embeddings=20, **config)
    torch.manual_seed(0)
    model = transformers.BertForMaskedLM(config).eval()
    model.save_pretrained(folder)
    return model


def vit(**options):
    timm = pytest.importorskip("timm")
    torch.manual_seed(0)
    small = {"img_size": 16, "patch_size": 8, "embed_dim": 12, "depth": 2, "num_heads": 2, "num_classes": 3}
    return timm.create_model("vit_tiny_patch16_224", **small | options).eval()


def refused(call, *words):
    """The message of a ValueError: one line that holds these words."""
    with pytest.raises(ValueError, match=re.escape(words[0])) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    assert all(word in message for word in words), message
