"""GPT-2 with wavy blocks: the equations of its block, and options of the library's."""

from __future__ import annotations

import pytest
import torch
from torch.func import jvp

transformers = pytest.importorskip("transformers")

from language_models import GPT2, close, kinds, tokens  # noqa: E402
from wavy.hosts.gpt2 import WavyGPT2DoubleHeadsModel  # noqa: E402
from wavy.residual import Residual  # noqa: E402

VELOCITY = ("full", "mix_full")


@kinds
def test_a_block_is_its_equations(kind):
    """Attention of LN X, the residual, then mlp, along which a velocity moves by FFN_v after LN_v."""
    model = GPT2.make(kind, theta_init=0.3, tau=0.4)
    block, causal = model.layers()[0], torch.full((1, 1, 5, 5), -torch.inf).double().triu(1)
    x, memory = torch.randn(2, 2, 5, 16, dtype=torch.float64)
    memory = None if kind == "diffusion" else memory
    residual = Residual(16, kind, 0.4, 0.3, "stock").double()
    ax = block.attn(block.ln_1(x), attention_mask=causal)[0]
    state, kept = residual(x, ax, memory)
    normed = block.ln_2(state)
    if kind in VELOCITY:
        scale = state.var(-1, keepdim=True, correction=0).add(block.ln_2.eps).rsqrt()
        kept = kept + jvp(block.mlp, (normed,), (block.ln_2.weight * scale * kept,))[1]
    state = state + block.mlp(normed)
    after = block((x, memory) if memory is not None else x, attention_mask=causal)
    after, found = after if isinstance(after, tuple) else (after, None)
    assert close(after, state)
    assert (found is None and kept is None) or close(found, kept)
    block.last = True
    assert close(block((x, memory), attention_mask=causal), state)


@kinds
@pytest.mark.parametrize(
    "options",
    [
        {"reorder_and_upcast_attn": True, "attn_implementation": "eager"},
        {"scale_attn_by_inverse_layer_idx": True},
        {"activation_function": "relu", "tie_word_embeddings": False},
    ],
    ids=["upcast", "scaled", "relu"],
)
def test_options_of_the_stock_model_mean_the_same(kind, options):
    # The library's upcast to single precision refuses a model in double.
    stock = GPT2.make_stock(**options).float()
    model = GPT2.alike(kind, stock, theta_init=-60.0, **options).float()
    if kind == "full":
        assert model(tokens()).logits.isfinite().all()
    else:
        assert close(model(tokens()).logits, stock(tokens()).logits, 1e-5)


@kinds
def test_double_heads(kind):
    model = GPT2.make(kind, WavyGPT2DoubleHeadsModel)
    out = model(tokens().view(1, 2, 7), mc_token_ids=torch.tensor([[6, 6]]), labels=tokens().view(1, 2, 7))
    assert out.logits.shape == (1, 2, 7, 40)
    assert out.mc_logits.shape == (1, 2)
    out.loss.backward()
    assert model.layers()[0].attn.c_attn.weight.grad.abs().sum() > 0
