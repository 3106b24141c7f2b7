"""The diagnosis of a trained model: what is left of the differences between tokens; attention of language models."""

from __future__ import annotations

import pandas as pd
import torch
from torch import Tensor, nn

from wavy.diagnostics import spectral_gap, wave_growth


def state_measures(profile: pd.DataFrame, final_norm: bool = False) -> dict[str, float]:
    """What is left of the differences between tokens, in the names of the other experiments' rows.

    Of the state after the last layer: cosine, effective_rank, and energy_ratio, its Dirichlet energy over that of the
    state before the first layer. Of the last normalised state, whose scale is not free: node_variance. And the cosine
    of each state: cosine_0 before the first layer, cosine_1 after it, and so on.

    Args:
        profile: from :func:`wavy.diagnostics.layer_profile`, the state before the first layer included.
        final_norm: whether its last row is the state after a final norm; without one the layers end in a norm.
    """
    states = profile.iloc[:-1] if final_norm else profile
    first, last = states.iloc[0], states.iloc[-1]
    return {
        **{name: last[name].item() for name in ("cosine", "effective_rank")},
        "energy_ratio": (last["dirichlet_energy"] / first["dirichlet_energy"]).item(),
        "node_variance": profile["node_variance"].iloc[-1].item(),
        **{f"cosine_{layer}": cosine for layer, cosine in enumerate(states["cosine"])},
    }


@torch.no_grad()
def attention_measures(model: nn.Module, inputs: dict[str, Tensor], tau: float) -> dict[str, float]:
    """Means over layers, heads and examples: gap, and growth, the largest factor of a full-wave mode in one layer.

    Args:
        model: an encoder or decoder of transformers', without its head.
        inputs: of the model, without padding.
        tau: step size.
    """
    backend = model.config._attn_implementation
    model.set_attn_implementation("eager")  # the others do not hand out the matrices
    try:
        attentions = model.eval()(**inputs, output_attentions=True).attentions
    finally:
        model.set_attn_implementation(backend)
    a = torch.stack(attentions).double().flatten(0, 2)
    return {"gap": spectral_gap(a).mean().item(), "growth": wave_growth(a, tau).mean().item()}
