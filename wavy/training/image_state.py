"""The diagnosis of a trained vision transformer: what is left of the differences between tokens, and its attention."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import torch
from torch import Tensor, nn

from wavy.diagnostics import class_variances, layer_profile, spectral_gap, wave_growth
from wavy.diagnostics.profile import run_hooked

if TYPE_CHECKING:
    from timm.models.vision_transformer import Attention


def image_profile(model: nn.Module, pixels: Tensor) -> pd.DataFrame:
    """The layer profile of a model of timm's: the state before the first block, after each, and after the last norm.

    All tokens count, the class token where there is one, too.

    Args:
        model: a vision transformer or a CaiT.
        pixels: (B, 3, size, size).

    Returns:
        See :func:`wavy.diagnostics.layer_profile`; depth + 2 rows.
    """
    return layer_profile(model, pixels, blocks=[model.pos_drop, *model.blocks, model.norm])


@torch.no_grad()
def class_measures(model: nn.Module, pixels: Tensor, labels: Tensor) -> dict[str, float]:
    """The variance between the class means of what the head reads, inter_class_variance, and its share of the whole.

    Args:
        model: a vision transformer or a CaiT.
        pixels: (B, 3, size, size).
        labels: (B,) classes.
    """
    model.eval()
    features = model.forward_head(model.forward_features(pixels), pre_logits=True).double()
    between, within = class_variances(features, labels)
    return {"inter_class_variance": between.item(), "inter_class_share": (between / (between + within)).item()}


@torch.no_grad()
def attention_measures(model: nn.Module, pixels: Tensor, tau: float | None) -> dict[str, float | None]:
    """Means over blocks, heads and images: gap, and growth, the largest factor of a full-wave mode in one layer.

    Args:
        model: a vision transformer or a CaiT.
        pixels: (B, 3, size, size).
        tau: step size; ``None`` gives no growth.

    Returns:
        ``None`` for both where heads talk, as in CaiT: what meets the values is no stochastic matrix.
    """
    from timm.models.vision_transformer import Attention  # noqa: PLC0415 (an extra)

    attentions = [block.attn for block in model.blocks]
    if not all(isinstance(attention, Attention) for attention in attentions):
        return {"gap": None, "growth": None}
    gaps, growths = [], []

    def measure(attention: Attention, inputs: tuple[Tensor, ...], _output: object) -> None:
        # At once, so that the matrices of no more than one block are kept; on the CPU, where eigenvalues are quicker.
        matrix = attention_matrix(attention, inputs[0]).double().cpu()
        gaps.append(spectral_gap(matrix).mean().item())
        if tau is not None:
            growths.append(wave_growth(matrix, tau).mean().item())

    run_hooked(model, attentions, measure, pixels)
    return {"gap": sum(gaps) / len(gaps), "growth": sum(growths) / len(growths) if growths else None}


def attention_matrix(attention: Attention, x: Tensor) -> Tensor:
    """The matrices A (B, H, N, N) of timm's attention on its input (B, N, d), before AttnScale and dropout."""
    query, key, _ = attention.qkv(x).unflatten(-1, (3, attention.num_heads, -1)).permute(2, 0, 3, 1, 4)
    query, key = attention.q_norm(query), attention.k_norm(key)
    return (attention.scale * query @ key.mT).softmax(dim=-1)
