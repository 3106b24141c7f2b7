"""GPT-2 with wavy blocks: the equations of its block, and options of the library's."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.func import jvp

transformers = pytest.importorskip("transformers")

from language_models import GPT2, apart, close, kinds, moved, tokens  # noqa: E402
from wavy import wavify  # noqa: E402
from wavy.hosts import gpt2  # noqa: E402
from wavy.residual import Residual  # noqa: E402


@kinds
@pytest.mark.parametrize("cross", [False, True])
def test_a_block_is_its_equations(kind, cross, monkeypatch):
    """Attention of LN X, the residual, then mlp, along which a velocity moves by FFN_v after LN_v."""
    model = GPT2.make(kind, theta_init=0.3, tau=0.4, attn_implementation="eager", add_cross_attention=cross)
    block, mask = model.layers()[0], torch.full((1, 1, 5, 5), -torch.inf).double().triu(1)
    x, memory, other = torch.randn(3, 2, 5, 16, dtype=torch.float64)
    start = None if kind == "diffusion" else memory
    inputs = {"attention_mask": mask, "encoder_hidden_states": other if cross else None}

    ax = block.attn(block.ln_1(x), attention_mask=mask)[0]
    state, kept = Residual(16, kind, 0.4, 0.3, "stock").double()(x, ax, start)
    if cross:  # the stock residual; a velocity stays as it is
        state = state + block.crossattention(block.ln_cross_attn(state), encoder_hidden_states=other)[0]
    normed = block.ln_2(state)
    if kind in ("full", "mix_full"):
        kept = kept + jvp(block.mlp, (normed,), (moved(block.ln_2, state, kept),))[1]
    state = state + block.mlp(normed)

    after, found = apart(block(x if start is None else (x, start), **inputs))
    assert close(after, state)
    assert found is kept is None or close(found, kept)
    # The last one hands on the state alone, and has no use for a velocity's mlp.
    monkeypatch.setattr(gpt2, "mlp_pair", None)
    block.last = True
    assert close(block(x if start is None else (x, start), **inputs), state)


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
    model = GPT2.make(kind, gpt2.WavyGPT2DoubleHeadsModel)
    out = model(tokens().view(1, 2, 7), mc_token_ids=torch.tensor([[6, 6]]), labels=tokens().view(1, 2, 7))
    assert out.logits.shape == (1, 2, 7, 40)
    assert out.mc_logits.shape == (1, 2)
    out.loss.backward()
    assert model.layers()[0].attn.c_attn.weight.grad.abs().sum() > 0


class Doubled(gpt2.GPT2MLP):
    """An mlp with a forward of its own."""

    def forward(self, x):
        return 2 * super().forward(x)


def _subclass(mlp):
    mlp.__class__ = Doubled


def _forward(mlp):
    own = mlp.forward
    mlp.forward = lambda x: 2 * own(x)


def _hook(mlp):
    mlp.register_forward_hook(lambda module, inputs, out: 2 * out)


def _activation(mlp):
    mlp.act = nn.Tanh()


def _hooked_activation(mlp):
    mlp.act.register_forward_hook(lambda module, inputs, out: 2 * out)


@kinds
@pytest.mark.parametrize("change", [_subclass, _forward, _hook, _activation, _hooked_activation])
def test_a_changed_mlp_is_called_or_refused(kind, change):
    """Whether it was changed before the model was converted or after."""
    plain, after = GPT2.make_stock(), GPT2.make(kind, theta_init=-60.0)
    for blocks in (plain.transformer.h, after.layers()):
        change(blocks[0].mlp)
    for use in (lambda: wavify(plain, kind, theta_init=-60)(tokens()), lambda: after(tokens())):
        if kind in ("full", "mix_full"):
            with pytest.raises(ValueError, match=r"^(mlp\S*|activation): found") as caught:
                use()
            assert "\n" not in str(caught.value)
        else:
            assert close(use().logits, plain(tokens()).logits)


@kinds
def test_the_activation_is_that_of_the_mlp(kind):
    plain = GPT2.make_stock()
    for block in plain.transformer.h:
        block.mlp.act = nn.ReLU()
    alike = GPT2.alike(kind, plain, activation_function="relu")
    assert close(wavify(plain, kind)(tokens()).logits, alike(tokens()).logits)
