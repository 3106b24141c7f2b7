"""timm's vision transformers (plain ViT and DeiT) with any residual kind.

After importing this module, ``timm.create_model("wavy_deit_tiny_patch16_224", residual="light", tau=0.5)`` builds
timm's own model with wavy blocks. Parameter names are timm's; a kind with a lambda adds ``blocks.i.residual.theta``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import timm
from timm.models import register_model
from timm.models.vision_transformer import Block, VisionTransformer
from torch import Tensor, nn

from wavy.hosts.conversion import ResidualOptions, converter
from wavy.hosts.timm_layers import mlp_pair, norm_pair, path_mask
from wavy.layers import Pair
from wavy.residual import Residual

#: The timm models that are registered with the prefix ``wavy_``.
NAMES = (
    *(f"deit_{size}_patch16_224" for size in ("tiny", "small", "base")),
    *(f"vit_{size}_patch16_224" for size in ("tiny", "small", "base")),
)


class WavyViTBlock(Block):
    """timm's pre-norm block with a residual of any kind, as :class:`wavy.hosts.transformer.WavyBlock`.

    Between the blocks of a model travels the state or, where a kind has a memory, the pair (state, memory); the last
    block hands on the state alone. Drop path skips a layer for a state and its velocity together.

    Args:
        dim: channels d.
        *args: those of timm's ``Block``.
        residual, tau, theta_init, form: see :class:`wavy.residual.Residual`.
        **kwargs: those of timm's ``Block``.

    Shapes:
        x, memory: (B, N, d).

    Raises:
        ValueError: an argument out of its range.
    """

    last = False

    def __init__(
        self,
        dim: int,
        *args: object,
        residual: str = "diffusion",
        tau: float = 0.5,
        theta_init: float = 0.0,
        form: str = "stock",
        **kwargs: object,
    ) -> None:
        super().__init__(dim, *args, **kwargs)
        self.residual = Residual(dim, residual, tau, theta_init, form)

    def forward(self, x: Tensor | Pair, attn_mask: Tensor | None = None, is_causal: bool = False) -> Tensor | Pair:
        """The next state, or state and memory."""
        x, memory = x if isinstance(x, tuple) else (x, None)
        ax = self.ls1(self.attn(self.norm1(x), attn_mask=attn_mask, is_causal=is_causal))
        x, memory = self._residual(x, ax, memory)
        if self.residual.carries_velocity and not self.last:
            dx, dv = mlp_pair(self.mlp, *norm_pair(self.norm2, x, memory))
            mask = path_mask(self.drop_path2, x)
            x, memory = x + mask * self.ls2(dx), memory + mask * self.ls2(dv)
        else:
            x = x + self.drop_path2(self.ls2(self.mlp(self.norm2(x))))
        return x if self.last or memory is None else (x, memory)

    def _residual(self, x: Tensor, ax: Tensor, memory: Tensor | None) -> Pair:
        if self.residual.kind == "diffusion":
            return self.residual(x, self.drop_path1(ax), memory)
        after, kept = self.residual(x, ax, memory)
        mask = path_mask(self.drop_path1, x)
        if isinstance(mask, float):
            return after, kept
        if self.residual.carries_velocity:
            before = 0 if memory is None else memory
            kept = before + mask * (kept - before)
        return x + mask * (after - x), kept


class WavyVisionTransformer(VisionTransformer):
    """timm's ``VisionTransformer`` of wavy blocks; made by the registered functions, see the module."""

    def mark_last(self) -> WavyVisionTransformer:
        """Let the last block, and no other, hand on the state alone."""
        for block in self.blocks:
            block.last = block is self.blocks[-1]
        return self

    def no_weight_decay(self) -> set[str]:
        """timm's names, and theta."""
        thetas = {name for name, _ in self.named_parameters() if name.endswith("residual.theta")}
        return super().no_weight_decay() | thetas

    def prune_intermediate_layers(self, *args: object, **kwargs: object) -> list[int]:
        """As timm's."""
        kept = super().prune_intermediate_layers(*args, **kwargs)
        self.mark_last()
        return kept

    def forward_intermediates(self, x: Tensor, *args: object, **kwargs: object) -> object:
        """As timm's; the memory passes from block to block beside the states that timm collects."""
        return VisionTransformer.forward_intermediates(_StatesOnly(self), x, *args, **kwargs)


@converter(VisionTransformer, WavyVisionTransformer)
def _convert(model: VisionTransformer, options: ResidualOptions) -> None:
    for block in model.blocks:
        if type(block) not in (Block, WavyViTBlock):
            raise ValueError(f"model: found blocks of class {type(block).__name__}, allowed timm's Block")
        block.__class__ = WavyViTBlock
        block.residual = options.build(model.embed_dim, like=block.mlp.fc2.weight)
    model.__class__ = WavyVisionTransformer
    model.mark_last()


class _StatesOnly:
    """A model whose blocks map states to states, for timm code that looks at the state between two blocks."""

    def __init__(self, model: WavyVisionTransformer) -> None:
        self.model, self.memory = model, None
        self.blocks = [_Carrier(self, block) for block in model.blocks]

    def __getattr__(self, name: str) -> object:
        return getattr(self.model, name)


class _Carrier:
    """One block; it keeps the memory that it was given, so that checkpointing can run it again."""

    def __init__(self, owner: _StatesOnly, block: WavyViTBlock) -> None:
        self.owner, self.block, self.memory, self.ran = owner, block, None, False

    def __call__(self, x: Tensor, **kwargs: object) -> Tensor:
        if not self.ran:
            self.memory, self.ran = self.owner.memory, True
        out = self.block(x if self.memory is None else (x, self.memory), **kwargs)
        x, self.owner.memory = out if isinstance(out, tuple) else (out, None)
        return x


def _wavy(base: str) -> Callable[..., nn.Module]:
    """The function that builds timm's model ``base`` with wavy blocks."""

    def create(
        pretrained: bool = False,
        residual: str = "diffusion",
        tau: float = 0.5,
        theta_init: float = 0.0,
        form: str = "stock",
        **kwargs: object,
    ) -> nn.Module:
        block = partial(WavyViTBlock, residual=residual, tau=tau, theta_init=theta_init, form=form)
        make = timm.models.model_entrypoint(base)
        built = make(pretrained=pretrained, block_fn=block, pretrained_strict=False, **kwargs)
        model = built.model if kwargs.get("features_only") else built
        model.__class__ = WavyVisionTransformer
        model.mark_last()
        return built

    create.__name__ = f"wavy_{base}"
    create.__doc__ = f"timm's {base} with wavy blocks."
    return create


for _base in NAMES:
    globals()[f"wavy_{_base}"] = register_model(_wavy(_base))
