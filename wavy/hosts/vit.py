"""timm's vision transformers (plain ViT and DeiT) with any residual kind.

After importing this module, ``timm.create_model("wavy_deit_tiny_patch16_224", residual="light", tau=0.5)`` builds
timm's own model with wavy blocks, ``featscale=True`` and ``attnscale=True`` add FeatScale and AttnScale. Parameter
names are timm's; new are ``blocks.i.residual.theta`` (kinds with a lambda), ``blocks.i.featscale.lamb1`` and
``lamb2``, and ``blocks.i.attn.lamb``.

A file of stock weights loads with ``pretrained=True, pretrained_cfg_overlay={"file": path}``, which lets these new
parameters keep their start values; timm's ``checkpoint_path=path`` is strict and takes weights of the same wavy model
alone. Tracing with ``torch.fx`` and ``torch.jit.script`` are not supported; ``torch.compile`` and ``torch.export``
are.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from timm.models.deit import VisionTransformerDistilled
from timm.models.vision_transformer import Attention, Block, VisionTransformer
from torch import Tensor, nn

from wavy.hosts.conversion import ResidualOptions, converter
from wavy.hosts.scales import allowed_mean, scale_heads
from wavy.hosts.timm_block import WavyTimmBlock
from wavy.hosts.timm_model import WavyTimmModel, convert_model
from wavy.hosts.timm_registry import register_wavy

#: The timm models that are registered with the prefix ``wavy_``.
NAMES = (
    *(f"deit_{size}_patch16_224" for size in ("tiny", "small", "base")),
    "deit_base_patch16_384",
    *(f"deit_{size}_distilled_patch16_224" for size in ("tiny", "small", "base")),
    "deit_base_distilled_patch16_384",
    *(f"deit3_{size}_patch16_{pixels}" for size in ("small", "base", "large") for pixels in (224, 384)),
    "deit3_medium_patch16_224",
    *(f"vit_{size}_patch16_{pixels}" for size in ("tiny", "small", "base", "large") for pixels in (224, 384)),
    *(f"vit_{size}_patch32_{pixels}" for size in ("small", "base", "large") for pixels in (224, 384)),
)


class ScaledAttention(Attention):
    """timm's attention with AttnScale: ``J/N + (1 + lamb) (A - J/N)`` a head, before dropout.

    Rows of A sum to 1, so no (N, N) matrix is formed where no dropout is drawn: A V becomes
    ``m + (1 + lamb) (A V - m)``, m = J V / N. Under a mask J/N is softmax(mask), the uniform attention over what each
    token may attend to. Made by :func:`scale_attention` from timm's own.

    Shapes:
        x: (B, N, d).

    Source: AttnScale (Wang et al., ICLR 2022); the mask is our choice.
    """

    def reset_parameters(self) -> None:
        """Start as timm's attention."""
        nn.init.zeros_(self.lamb)

    def forward(self, x: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False) -> Tensor:
        """Attn(X), (B, N, d)."""
        mask = {"attn_mask": attn_mask, "is_causal": is_causal}
        query, key, value = self.qkv(x).unflatten(-1, (3, self.num_heads, self.head_dim)).permute(2, 0, 3, 1, 4)
        query, key = self.q_norm(query), self.k_norm(key)

        def scaled(value: Tensor) -> Tensor:
            attended = F.scaled_dot_product_attention(query, key, value, **mask)
            return scale_heads(attended, allowed_mean(value, **mask), self.lamb)

        if self.training and self.attn_drop.p > 0:
            # Dropout needs the matrix itself: what attention makes of the identity.
            identity = torch.eye(x.shape[1], dtype=value.dtype, device=value.device)
            attended = self.attn_drop(scaled(identity.expand(*value.shape[:2], -1, -1))) @ value
        else:
            attended = scaled(value)
        return self.proj_drop(self.proj(attended.transpose(1, 2).flatten(2)))


def check_plain(name: str, attention: nn.Module, parts: tuple[str, ...] = ("norm", "gate", "q_norm", "k_norm")) -> None:
    """Check that an attention is timm's plain one.

    Args:
        name: of what is to be added to it, for the message.
        attention: the module.
        parts: what it may not have.

    Raises:
        ValueError: it is another, or has one of these parts.
    """
    found = [part for part in parts if not isinstance(getattr(attention, part, None), (nn.Identity, type(None)))]
    if type(attention) is not Attention or found:
        kind = f"{type(attention).__name__}{' with ' + ', '.join(found) if found else ''}"
        raise ValueError(f"{name}: found {kind}, allowed timm's Attention without {', '.join(parts)}")


def scale_attention(attention: nn.Module) -> None:
    """Give timm's attention AttnScale, in place.

    Raises:
        ValueError: another attention than timm's plain one.
    """
    check_plain("attnscale", attention, ("norm", "gate"))
    attention.__class__ = ScaledAttention
    attention.lamb = nn.Parameter(attention.proj.weight.new_zeros(attention.num_heads))


class WavyViTBlock(WavyTimmBlock, Block):
    """timm's ``Block`` with a residual of any kind; see :class:`wavy.hosts.timm_block.WavyTimmBlock`."""

    def scale_attention(self) -> None:
        """Add AttnScale."""
        scale_attention(self.attn)

    def _branches(self) -> list[tuple[Tensor | None, nn.Module]]:
        scales, paths = (self.ls1, self.ls2), (self.drop_path1, self.drop_path2)
        return [(getattr(scale, "gamma", None), path) for scale, path in zip(scales, paths, strict=True)]


class WavyVisionTransformer(WavyTimmModel, VisionTransformer):
    """timm's ``VisionTransformer`` of wavy blocks; made by the registered functions, see the module."""

    stock = VisionTransformer


class WavyVisionTransformerDistilled(WavyTimmModel, VisionTransformerDistilled):
    """timm's ``VisionTransformerDistilled`` (DeiT with a distillation token) of wavy blocks."""

    stock = VisionTransformerDistilled


CLASSES = {wavy.stock: wavy for wavy in (WavyVisionTransformer, WavyVisionTransformerDistilled)}


@converter(*CLASSES, *CLASSES.values())
def _convert(model: VisionTransformer, options: ResidualOptions) -> None:
    convert_model(model, options, Block, WavyViTBlock, CLASSES)


register_wavy(__name__, NAMES, "block_fn", WavyViTBlock, CLASSES)
