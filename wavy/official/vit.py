"""The published ViT (DeiT shapes) with a wave in its residual, with and without FeatScale."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wavy.checks import check_choice, check_divisor, check_whole
from wavy.hosts.scales import allowed_mean, rescale
from wavy.official.joint import JointLN, joint_mlp

RESIDUAL_TYPES = ("wave", "wave_without_featscale")

#: The step is a constant of the published code.
TAU = 0.5


class Attention(nn.Module):
    """Softmax attention with one product for queries, keys and values, named as in timm.

    Args:
        dim: channels d.
        heads: H.
        bias: whether queries, keys and values have a bias.
    """

    def __init__(self, dim: int, heads: int, bias: bool) -> None:
        super().__init__()
        check_divisor("num_heads", heads, "the width", dim)
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim, bias=bias)
        self.proj = nn.Linear(dim, dim)

    def split(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values, (B, H, N, d / H)."""
        return self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)

    def forward(self, x: Tensor) -> Tensor:
        """Attn(X), (B, N, d)."""
        return self.proj(F.scaled_dot_product_attention(*self.split(x)).transpose(1, 2).flatten(2))


class Mlp(nn.Module):
    """The two linear layers of the mlp, named as in timm."""

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(dim, hidden), nn.Linear(hidden, dim)


class _Block(nn.Module):
    def __init__(self, dim: int, heads: int, hidden: int, bias: bool, eps: float, featscale: bool) -> None:
        super().__init__()
        self.featscale = featscale
        self.lamb1, self.lamb2 = nn.Parameter(torch.zeros(dim)), nn.Parameter(torch.zeros(dim))
        self.beta = nn.Parameter(torch.full((dim,), -8.0))
        self.norm1, self.norm2 = JointLN(dim, eps), JointLN(dim, eps)
        self.attn, self.mlp = Attention(dim, heads, bias), Mlp(dim, hidden)

    def forward(self, x: Tensor, velocity: Tensor) -> tuple[Tensor, Tensor]:
        normed = self.norm1(x, velocity)
        attended = self.attn(normed[0])
        if self.featscale:
            attended = rescale(attended, allowed_mean(attended), self.lamb1, self.lamb2)
        else:
            # The normalised values take the place of the stream itself: not a pre-norm transformer.
            x, velocity = normed
        velocity = velocity + TAU * (attended - x)
        share = torch.sigmoid(self.beta)
        x = share * (x + TAU * velocity) + (1 - share) * (x + attended)
        dx, dv = joint_mlp(*self.norm2(x, velocity), self.mlp.fc1, self.mlp.fc2)
        return x + dx, velocity + dv


class PublishedViT(nn.Module):
    """The published ViT classifier; built by :func:`build`."""

    def __init__(self, image: int, patch: int, classes: int, dim: int, depth: int, eps: float, **block: object) -> None:
        super().__init__()
        self.img_size = image
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos_embed = nn.Parameter(torch.zeros(1, 1 + (image // patch) ** 2, dim))
        self.patch_embed = nn.Module()
        self.patch_embed.proj = nn.Conv2d(3, dim, patch, patch)
        self.blocks = nn.ModuleList(_Block(dim, eps=eps, **block) for _ in range(depth))
        self.norm = JointLN(dim, eps)
        self.head = nn.Linear(dim, classes)

    def forward(self, x: Tensor, return_states: bool = False) -> Tensor | tuple[Tensor, list[Tensor], list[Tensor]]:
        """Logits (B, classes) of images (B, 3, img_size, img_size); with ``return_states`` also states and velocities.

        Raises:
            ValueError: images of another shape.
        """
        if tuple(x.shape[1:]) != (allowed := (3, self.img_size, self.img_size)):
            raise ValueError(f"x: found {tuple(x.shape)}, allowed images (B, {', '.join(map(str, allowed))})")
        patches = self.patch_embed.proj(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), patches], dim=1) + self.pos_embed
        velocity, states, velocities = torch.zeros_like(x), [], []
        for block in self.blocks:
            x, velocity = block(x, velocity)
            states.append(x)
            velocities.append(velocity)
        logits = self.head(self.norm(x, velocity)[0][:, 0])
        return (logits, states, velocities) if return_states else logits


def build(
    *,
    img_size: int = 224,
    patch_size: int = 16,
    num_classes: int = 1000,
    embed_dim: int = 192,
    depth: int = 12,
    num_heads: int = 3,
    mlp_ratio: float = 4.0,
    qkv_bias: bool = True,
    ln_eps: float = 1e-6,
    residual_type: str = "wave",
) -> PublishedViT:
    """An empty ViT from the hyper-parameters of the published code; its step is 1/2.

    With D = Attn(LN X) - X: V' = V + D/2, and X' = a (X + V'/2) + (1 - a) (X + Attn(LN X)), a = sigmoid(beta).
    ``wave`` has FeatScale after the output projection and keeps the stream unnormalised;
    ``wave_without_featscale`` puts the normalised state and velocity in the place of the stream.

    Returns:
        The model with freshly drawn weights, in training mode; it has no dropout and no drop path.

    Raises:
        ValueError: an unknown residual type, a width out of its range, heads that do not divide embed_dim, or patches
            that do not fit.

    Source: published code of Wavy Transformer.
    """
    check_choice("residual_type", residual_type, RESIDUAL_TYPES)
    for name in ("img_size", "num_classes", "embed_dim", "depth"):
        check_whole(name, locals()[name])
    check_divisor("patch_size", patch_size, "img_size", img_size)
    return PublishedViT(
        img_size,
        patch_size,
        num_classes,
        embed_dim,
        depth,
        ln_eps,
        heads=num_heads,
        hidden=int(embed_dim * mlp_ratio),
        bias=qkv_bias,
        featscale=residual_type == "wave",
    )
