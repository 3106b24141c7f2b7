"""The diagnosis of a trained language model: what is left of the differences between tokens, and its attention."""

from __future__ import annotations

import pandas as pd
import torch
from torch import Tensor

from wavy.diagnostics import spectral_gap, wave_growth

#: The measures, in the names of the other experiments' rows: of the state after the last layer its mean cosine,
#: effective rank and node variance, and its Dirichlet energy over that of the first state; of the attention matrices,
#: means over layers, heads and examples, their spectral gap and the largest factor of a full-wave mode in one layer.
MEASURES = ("cosine", "effective_rank", "node_variance", "energy_ratio", "gap", "growth")


def profile_ends(profile: pd.DataFrame) -> dict[str, float]:
    """The measures of the last state of a layer profile."""
    first, last = profile.iloc[0], profile.iloc[-1]
    ends = {name: last[name].item() for name in ("cosine", "effective_rank", "node_variance")}
    return ends | {"energy_ratio": (last["dirichlet_energy"] / first["dirichlet_energy"]).item()}


@torch.no_grad()
def attention_measures(model: object, inputs: dict[str, Tensor], tau: float) -> dict[str, float]:
    """The measures of the attention matrices of a model of transformers'."""
    backend = model.config._attn_implementation
    model.set_attn_implementation("eager")  # the others do not hand out the matrices
    try:
        attentions = model.eval()(**inputs, output_attentions=True).attentions
    finally:
        model.set_attn_implementation(backend)
    a = torch.stack(attentions).double().flatten(0, 2)
    return {"gap": spectral_gap(a).mean().item(), "growth": wave_growth(a, tau).mean().item()}
