"""Vision transformers with other remedies against over-smoothing than a wave, built on timm's."""

from __future__ import annotations

from functools import partial

import torch
import torch.nn.functional as F
from timm.models.vision_transformer import Attention, Block, VisionTransformer
from torch import Tensor, nn

from wavy.checks import check_choice
from wavy.hosts.vit import check_plain, scale_attention
from wavy.remedies.norms import ContraNorm

#: Share of the first layer's values that NeuTRENO adds, as published.
NEUTRENO = 0.6
#: Start of LayerScale's factors up to 18, up to 24, and beyond 24 layers, as published.
LAYER_SCALES = ((18, 0.1), (24, 1e-5), (10_000, 1e-6))


class Scalar(nn.Module):
    """alpha X with one trained alpha.

    Args:
        alpha: start value.
    """

    def __init__(self, alpha: float) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.tensor(alpha))

    def forward(self, x: Tensor) -> Tensor:
        """alpha X, the shape of x."""
        return self.alpha * x


class NeutrenoAttention(Attention):
    """timm's attention that keeps near the values of the first layer: (A V + 0.6 (V^0 - V)) W_O.

    Shapes:
        - **x:** (B, N, d); **first:** V^0, (B, h, N, d/h), or None in the first layer.
        - **output:** Attn(X), (B, N, d), and V^0.

    Source: Nguyen, Nguyen and Baraniuk, *NeuTRENO*, NeurIPS 2023.
    """

    def forward(self, x: Tensor, first: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Attention's output and the values of the first layer."""
        query, key, value = self.qkv(x).unflatten(-1, (3, self.num_heads, self.head_dim)).permute(2, 0, 3, 1, 4)
        first = value if first is None else first
        dropped = self.attn_drop.p if self.training else 0.0
        attended = F.scaled_dot_product_attention(query, key, value, dropout_p=dropped) + NEUTRENO * (first - value)
        return self.proj_drop(self.proj(attended.transpose(1, 2).flatten(2))), first


class NeutrenoBlock(Block):
    """timm's block with :class:`NeutrenoAttention`; between blocks travels the pair (X, V^0).

    The last block of a model, ``last = True``, hands on the state alone.
    """

    last = False

    def forward(self, x: Tensor | tuple[Tensor, Tensor]) -> Tensor | tuple[Tensor, Tensor]:
        """The next state, (B, N, d), with V^0."""
        x, first = x if isinstance(x, tuple) else (x, None)
        ax, first = self.attn(self.norm1(x), first)
        x = x + self.drop_path1(self.ls1(ax))
        x = x + self.drop_path2(self.ls2(self.mlp(self.norm2(x))))
        return x if self.last else (x, first)


def _neutreno(depth: int, **options: object) -> VisionTransformer:
    model = VisionTransformer(depth=depth, block_fn=NeutrenoBlock, **options)
    for block in model.blocks:
        check_plain("neutreno", block.attn)
        block.attn.__class__ = NeutrenoAttention
    model.blocks[-1].last = True
    return model


def _attnscale(depth: int, **options: object) -> VisionTransformer:
    model = VisionTransformer(depth=depth, **options)
    for block in model.blocks:
        scale_attention(block.attn)
    return model


def _layerscale(depth: int, **options: object) -> VisionTransformer:
    if options.get("init_values") is not None:
        raise ValueError(f"init_values: found {options['init_values']}, allowed None: the depth says where they start")
    options.pop("init_values", None)
    start = next(start for layers, start in LAYER_SCALES if depth <= layers)
    return VisionTransformer(depth=depth, init_values=start, **options)


def _without_norms(alpha: float, depth: int, **options: object) -> VisionTransformer:
    """Branches of plain sublayers, each with one trained factor; the last norm, before the head, stays."""
    model = VisionTransformer(depth=depth, **options)
    for block in model.blocks:
        block.norm1 = block.norm2 = nn.Identity()
        block.ls1, block.ls2 = Scalar(alpha), Scalar(alpha)
    return model


def _contranorm(depth: int, **options: object) -> VisionTransformer:
    model = VisionTransformer(depth=depth, norm_layer=partial(ContraNorm, eps=1e-6), **options)
    # A norm after pooling sees one token an image: ContraNorm would push the images of a batch apart.
    if isinstance(model.fc_norm, ContraNorm):
        model.fc_norm = model.fc_norm.norm
    return model


def _skipinit(depth: int, **options: object) -> VisionTransformer:
    return _without_norms((2 * depth) ** -0.5, depth, **options)


#: Remedy -> a function that builds it.
REMEDIES = {
    "rezero": partial(_without_norms, 0.0),
    "skipinit": _skipinit,
    "layerscale": _layerscale,
    "attnscale": _attnscale,
    "contranorm": _contranorm,
    "neutreno": _neutreno,
}


def build_vision_remedy(name: str, depth: int, **options: object) -> VisionTransformer:
    """A vision transformer with a remedy, untrained.

    * ``rezero``, ``skipinit``: X + alpha f(X) with one trained alpha a branch and no norms but the last; alpha starts
      at 0 (Bachlechner et al., UAI 2021) or at 1/sqrt(2 L), for 2 L branches (De and Smith, NeurIPS 2020).
    * ``layerscale``: a trained factor for each channel of a branch (Touvron et al., ICCV 2021).
    * ``attnscale``: see :class:`wavy.hosts.vit.ScaledAttention` (Wang et al., ICLR 2022).
    * ``contranorm``: :class:`wavy.remedies.norms.ContraNorm` for every norm, as in its published code.
    * ``neutreno``: :class:`NeutrenoAttention` in every block.

    Args:
        name: one of :data:`REMEDIES`.
        depth: layers L.
        **options: of timm's ``VisionTransformer``.

    Raises:
        ValueError: an unknown name, or an option that the remedy has no place for.
    """
    check_choice("name", name, REMEDIES)
    return REMEDIES[name](depth=depth, **options)
