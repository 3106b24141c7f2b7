"""FeatScale and AttnScale: trained gains for what attention makes alike and for what it keeps apart."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from wavy.layers.precision import at_least_single


def rescale(x: Tensor, low: Tensor, low_gain: Tensor | float, high_gain: Tensor | float) -> Tensor:
    """Scale a part of x and the rest of x by factors of their own; gains of zero change no bit.

    ``low (1 + low_gain) + (x - low) (1 + high_gain)``

    Args:
        x: any shape and precision; the result has both.
        low: the part, broadcasts to x.
        low_gain, high_gain: broadcast to x.
    """
    return (x * (1 + high_gain) + low * (low_gain - high_gain)).to(x.dtype)


def allowed_mean(x: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False) -> Tensor:
    """For each token the mean over the tokens that it may attend to: what uniform attention makes of x.

    It is softmax(mask) X, the attention that the mask alone gives where all logits are equal.

    Args:
        x: (..., N, d).
        attn_mask: as for attention, boolean (true: allowed) or added to the logits; broadcasts to (..., N, N).
        is_causal: each token attends to itself and to those before it.

    Returns:
        (..., N, d), or (..., 1, d) where every token may attend to all.
    """
    if is_causal:
        # Half precision cannot count to 257 (bfloat16) or 2049 (float16).
        precise = at_least_single(x)
        counts = torch.arange(1, x.shape[-2] + 1, device=x.device, dtype=precise)
        return (x.cumsum(dim=-2, dtype=precise) / counts[:, None]).to(x.dtype)
    if attn_mask is None:
        return x.mean(dim=-2, keepdim=True)
    if attn_mask.dtype == torch.bool:
        attn_mask = x.new_zeros(attn_mask.shape).masked_fill_(~attn_mask, float("-inf"))
    return attn_mask.softmax(dim=-1).to(x.dtype) @ x


class FeatScale(nn.Module):
    """FeatScale: gains a channel for attention's output a, for its mean m and for the rest.

    ``m (1 + lamb1) + (a - m) (1 + lamb2)``, :eq:`eq-featscale`

    m is the mean over all tokens, CLS included; under a mask over those that a token may attend to, so that causal
    attention stays causal. FeatScale acts after the output projection. Its own authors' code adds the scaled parts
    to the state twice, which makes the factors 1 + 2 lamb (``wavy.official.scale`` has that); this is the
    definition, which the code of Wavy Transformer has too.

    Args:
        dim: channels d.

    Shapes:
        a: (B, N, d).

    Source: FeatScale (Wang et al., ICLR 2022), Wavy Transformer.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.lamb1, self.lamb2 = nn.Parameter(torch.empty(dim)), nn.Parameter(torch.empty(dim))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Start as the identity."""
        nn.init.zeros_(self.lamb1)
        nn.init.zeros_(self.lamb2)

    def forward(self, a: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False) -> Tensor:
        """The scaled output, (B, N, d)."""
        # A mask may have an axis for heads, whose means are averaged.
        mean = allowed_mean(a.unsqueeze(1), attn_mask, is_causal).mean(dim=1)
        return rescale(a, mean, self.lamb1, self.lamb2)


def scale_heads(a: Tensor, low: Tensor, lamb: Tensor) -> Tensor:
    """AttnScale of each head's A, or of A V with low V in place of low: :eq:`eq-attnscale`.

    ``low + (1 + lamb) (A - low)``

    low is what A would be if all logits were equal: J / N, J all ones. It is the low-pass part of A, and keeps its
    factor 1.

    Args:
        a: (B, H, N, N), or A V, (B, H, N, d / H).
        low: broadcasts to a.
        lamb: (H,).

    Source: AttnScale (Wang et al., ICLR 2022).
    """
    return rescale(a, low, 0.0, lamb[:, None, None])
