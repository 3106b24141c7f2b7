"""LayerNorm for a state and its velocity."""

from __future__ import annotations

from torch import Tensor, nn

from wavy.checks import check_whole
from wavy.layers.norm_function import norm_pair
from wavy.layers.pair import Pair, check_pair


class JointLayerNorm(nn.LayerNorm):
    """LayerNorm of a state with LN_v for its velocity: :eq:`eq-ln-velocity`.

    With mean m and variance s^2 of the *state* over its channels, and r = 1/sqrt(s^2 + eps):

    ``LN(X) = gamma r (X - m) + beta,  LN_v(Y) = gamma r Y``.

    LN_v leaves out how m and s move with X. ``exact=True`` gives the whole derivative of LN along Y,
    :eq:`eq-ln-derivative`, a variant beyond the paper:

    ``DLN(X)[Y] = gamma r (Y - mean(Y) - Xhat mean(Xhat Y)),  Xhat = r (X - m)``.

    Args:
        dim: channels d.
        eps: added to the variance.
        exact: the exact derivative in place of LN_v.

    Shapes:
        x, velocity: (..., d).

    Raises:
        ValueError: ``dim`` is not a whole number >= 1.

    Source: Wavy Transformer.
    """

    def __init__(self, dim: int, eps: float = 1e-5, exact: bool = False) -> None:
        check_whole("dim", dim)
        super().__init__(dim, eps=eps)
        self.exact = exact

    def forward(self, x: Tensor, velocity: Tensor | None = None) -> Pair:
        """LN(x) and, where there is a velocity, LN_v of it."""
        check_pair(x, velocity)
        if velocity is None:
            return super().forward(x), None
        return norm_pair(x, velocity, self.weight, self.bias, self.eps, self.exact)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, exact={self.exact}"
