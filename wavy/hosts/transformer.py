"""The book's own small transformer, with any residual kind: every line of it is meant to be read."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from wavy.checks import check_choice, check_whole
from wavy.dynamics import KINDS
from wavy.hosts.conversion import ResidualOptions, converter
from wavy.hosts.softmax_attention import SoftmaxAttention
from wavy.layers import JointLayerNorm, JointMLP, Pair
from wavy.residual import Residual

#: ``pre``: attention and mlp read a normalised state. ``post``: their sums are normalised.
NORMS = ("pre", "post")


class WavyBlock(nn.Module):
    """One transformer layer with a residual of any kind: :eq:`eq-block`.

    ``forward(x, memory) -> (x, memory)`` (see :class:`wavy.residual.Residual`).
    A velocity passes LayerNorm as LN_v and the mlp as FFN_v.

    Args:
        dim: channels d.
        heads: attention heads.
        mlp_dim: channels between the layers of the mlp.
        residual, tau, theta_init, form: see :class:`wavy.residual.Residual`.
        norm: one of :data:`NORMS`.
        use_value: whether attention has W_V and W_O.
        dropout: probability in the mlp.
        exact_norm: carry the velocity through LayerNorm by the exact derivative.

    Shapes:
        x, memory: (..., N, d).

    Raises:
        ValueError: an argument out of its range.

    Source: Wavy Transformer.
    """

    def __init__(
        self,
        dim: int,
        heads: int = 1,
        mlp_dim: int = 64,
        residual: str = "diffusion",
        tau: float = 0.5,
        theta_init: float = 0.0,
        form: str = "stock",
        norm: str = "pre",
        use_value: bool = True,
        dropout: float = 0.0,
        exact_norm: bool = False,
    ) -> None:
        super().__init__()
        check_choice("residual", residual, KINDS)
        check_choice("norm", norm, NORMS)
        self.norm = norm
        self.attention = SoftmaxAttention(dim, heads, use_value)
        self.residual = Residual(dim, residual, tau, theta_init, form)
        self.norm1 = JointLayerNorm(dim, exact=exact_norm)
        self.norm2 = JointLayerNorm(dim, exact=exact_norm)
        self.mlp = JointMLP(dim, mlp_dim, dropout=dropout)

    def attention_input(self, x: Tensor) -> Tensor:
        """What attention reads: LN X (``pre``) or X itself (``post``)."""
        return self.norm1(x)[0] if self.norm == "pre" else x

    def forward(self, x: Tensor, memory: Tensor | None = None) -> Pair:
        """The next state and the next memory, each (..., N, d)."""
        ax = self.attention(self.attention_input(x))
        x, memory = self.residual(x, ax, memory)
        velocity = memory if self.residual.carries_velocity else None
        if self.norm == "pre":
            x, velocity = _add(x, velocity, *self.mlp(*self.norm2(x, velocity)))
        else:
            x, velocity = self.norm1(x, velocity)
            x, velocity = self.norm2(*_add(x, velocity, *self.mlp(x, velocity)))
        return x, memory if velocity is None else velocity


class Transformer(nn.Module):
    """A classifier of token sequences: embedding, L blocks, mean over the tokens, linear head.

    Args:
        in_channels: channels of an input token.
        num_tokens: N; each position has a trained embedding.
        dim: channels d of the state.
        out_channels: classes C.
        num_layers: blocks L.
        **block: arguments of :class:`WavyBlock`.

    Shapes:
        - **input:** (B, N, in_channels).
        - **output:** logits, (B, C).

    Raises:
        ValueError: an argument out of its range.
    """

    def __init__(
        self, in_channels: int, num_tokens: int, dim: int, out_channels: int, num_layers: int, **block: object
    ) -> None:
        super().__init__()
        for name in ("in_channels", "num_tokens", "dim", "out_channels", "num_layers"):
            check_whole(name, locals()[name])
        self.embed = nn.Linear(in_channels, dim)
        self.position = nn.Parameter(torch.randn(num_tokens, dim))
        self.start = nn.Identity()
        self.blocks = nn.ModuleList(WavyBlock(dim, **block) for _ in range(num_layers))
        self.norm = JointLayerNorm(dim)
        self.head = nn.Linear(dim, out_channels)

    def state_modules(self) -> list[nn.Module]:
        """The modules whose outputs are X^0 ... X^L, for :func:`wavy.diagnostics.layer_profile`."""
        return [self.start, *self.blocks]

    def states(self, tokens: Tensor) -> list[Pair]:
        """State and memory before the first block and after each, (B, N, d): a list of L + 1 pairs."""
        pair = self.start(self.embed(tokens) + self.position), None
        return [pair, *(pair := block(*pair) for block in self.blocks)]

    def attention_matrices(self, tokens: Tensor) -> list[Tensor]:
        """The attention matrices of each block, (B, H, N, N)."""
        inputs = [x for x, _ in self.states(tokens)[:-1]]
        return [block.attention.matrix(block.attention_input(x)) for block, x in zip(self.blocks, inputs, strict=True)]

    def forward(self, tokens: Tensor) -> Tensor:
        """Class logits, (B, C)."""
        x, _ = self.states(tokens)[-1]
        return self.head(self.norm(x)[0].mean(dim=-2))


@converter(Transformer)
def _convert(model: Transformer, options: ResidualOptions) -> None:
    for block in model.blocks:
        own = block.residual
        block.residual = options.build(own.dim, model.head.weight, own.tau, own.form)


def _add(x: Tensor, velocity: Tensor | None, dx: Tensor, dv: Tensor | None) -> Pair:
    return x + dx, None if velocity is None else velocity + dv
