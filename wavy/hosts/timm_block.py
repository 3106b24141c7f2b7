"""What the blocks of timm's models share: a residual of any kind, and FeatScale."""

from __future__ import annotations

from torch import Tensor

from wavy.checks import check_choice
from wavy.dynamics import KINDS
from wavy.hosts.pairs import norm_pair
from wavy.hosts.scales import FeatScale
from wavy.hosts.timm_layers import check_parts, mlp_pair, path_mask
from wavy.layers import Pair
from wavy.residual import Residual

#: The arguments that a wavy block has and timm's has not.
WAVE_ARGUMENTS = ("residual", "tau", "theta_init", "form", "featscale", "attnscale", "velocity_mlp")


class WavyTimmBlock:
    """A pre-norm block of timm's with a residual of any kind, as :class:`wavy.hosts.transformer.WavyBlock`.

    Between the blocks of a model travels the state or, where a kind has a memory, the pair (state, memory); the last
    block hands on the state alone. Drop path skips a layer for a state and its velocity together. LayerScale's first
    factors make the attention a lazy one (see :class:`wavy.residual.Residual`), its second ones scale the mlp of the
    state and of the velocity alike.

    Args:
        dim: channels d.
        *args: those of timm's block.
        residual, tau, theta_init, form: see :class:`wavy.residual.Residual`.
        featscale: scale attention's output (:class:`wavy.hosts.scales.FeatScale`).
        attnscale: scale attention itself (:func:`wavy.hosts.scales.scale_heads`).
        velocity_mlp: let a velocity pass the mlp, as FFN_v; without it the mlp changes the state alone.
        **kwargs: those of timm's block.

    Shapes:
        x, memory: (B, N, d).

    Raises:
        ValueError: an argument out of its range, or a layer of the block that cannot carry a velocity.
    """

    last = False
    velocity_mlp = True

    def __init__(
        self,
        dim: int,
        *args: object,
        residual: str = "diffusion",
        tau: float = 0.5,
        theta_init: float = 0.0,
        form: str = "stock",
        featscale: bool = False,
        attnscale: bool = False,
        velocity_mlp: bool = True,
        **kwargs: object,
    ) -> None:
        check_choice("residual", residual, KINDS)
        super().__init__(dim, *args, **kwargs)
        like = next(self.parameters())
        self.set_residual(Residual(dim, residual, tau, theta_init, form).to(like))
        if not (velocity_mlp or self.residual.carries_velocity):
            raise ValueError(f"velocity_mlp: found False for {residual!r}, allowed True: it has no velocity")
        self.velocity_mlp = velocity_mlp
        self.featscale = FeatScale(dim).to(like) if featscale else None
        if attnscale:
            self.scale_attention()

    def set_residual(self, residual: Residual) -> None:
        """Take another residual.

        Raises:
            ValueError: the block has parts that the residual's velocity cannot pass.
        """
        if residual.carries_velocity:
            check_parts(residual.kind, self.norm2, self.mlp)
        self.residual = residual

    def forward(self, x: Tensor | Pair, attn_mask: Tensor | None = None, is_causal: bool = False) -> Tensor | Pair:
        """The next state, or state and memory."""
        x, memory = x if isinstance(x, tuple) else (x, None)
        # Older versions of timm, and its CaiT, know no masks.
        mask = {} if attn_mask is None else {"attn_mask": attn_mask}
        mask |= {"is_causal": True} if is_causal else {}
        ax = self.attn(self.norm1(x), **mask)
        if self.featscale is not None:
            ax = self.featscale(ax, **mask)
        x, memory = self._residual_step(x, ax, memory)
        return self._mlp_step(x, memory)

    def _residual_step(self, x: Tensor, ax: Tensor, memory: Tensor | None) -> Pair:
        gamma, drop_path = self._branches()[0]
        if self.residual.kind == "diffusion" and self.residual.form == "stock":
            # In timm's order of products, for timm's own numbers bit for bit.
            return self.residual(x, drop_path(_times(ax, gamma)), memory)
        after, kept = self.residual(x, ax, memory, gamma)
        mask = path_mask(drop_path, x)
        if isinstance(mask, float):
            return after, kept
        if self.residual.carries_velocity:
            before = 0 if memory is None else memory
            kept = before + mask * (kept - before)
        return x + mask * (after - x), kept

    def _mlp_step(self, x: Tensor, memory: Tensor | None) -> Tensor | Pair:
        gamma, drop_path = self._branches()[1]
        if self.residual.carries_velocity and self.velocity_mlp and not self.last:
            dx, dv = mlp_pair(self.mlp, *norm_pair(self.norm2, x, memory))
            mask = path_mask(drop_path, x)
            return x + _times(dx, gamma, mask), memory + _times(dv, gamma, mask)
        x = x + drop_path(_times(self.mlp(self.norm2(x)), gamma))
        return x if self.last or memory is None else (x, memory)


def _times(x: Tensor, *factors: Tensor | float | None) -> Tensor:
    for factor in factors:
        x = x * factor if isinstance(factor, Tensor) else x
    return x
