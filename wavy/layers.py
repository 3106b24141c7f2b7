"""LayerNorm, mlp and dropout for a state and its velocity together.

Each module maps ``(x, velocity)`` to ``(x, velocity)``; a velocity of ``None`` stays ``None`` and costs nothing.
Without a velocity the modules are the ordinary ones, with the ordinary parameter names.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wavy.checks import check_choice, check_width

#: phi, and the product phi'(h) dh as one kernel of torch's where it has one that can be differentiated again.
ACTIVATIONS = {
    "gelu": (F.gelu, torch.ops.aten.gelu_backward),
    "gelu_tanh": (
        lambda h: F.gelu(h, approximate="tanh"),
        lambda dh, h: torch.ops.aten.gelu_backward(dh, h, approximate="tanh"),
    ),
    "relu": (F.relu, lambda dh, h: torch.where(h > 0, dh, torch.zeros_like(dh))),
    "silu": (F.silu, lambda dh, h: dh * torch.sigmoid(h) * (1 + h * torch.sigmoid(-h))),
}

Pair = tuple[Tensor, Tensor | None]


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
        check_width("dim", dim)
        super().__init__(dim, eps=eps)
        self.exact = exact

    def forward(self, x: Tensor, velocity: Tensor | None = None) -> Pair:
        """LN(x) and, where there is a velocity, LN_v of it."""
        check_pair(x, velocity)
        normed = super().forward(x)
        if velocity is None:
            return normed, None
        velocity = velocity_norm(x, velocity, self.weight, self.eps, self.exact)
        return normed, velocity.to(normed.dtype)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, exact={self.exact}"


def velocity_norm(
    x: Tensor,
    velocity: Tensor,
    weight: Tensor | float,
    eps: float,
    exact: bool = False,
) -> Tensor:
    """LN_v of a velocity, or the derivative of LN along it, at least in float32.

    Args:
        x: state, (..., d).
        velocity: its velocity, same shape.
        weight: gamma, (d,), or 1.
        eps: added to the variance.
        exact: see :class:`JointLayerNorm`.

    Returns:
        (..., d).
    """
    # Squares overflow in half precision, so its statistics are taken in single.
    precise = torch.promote_types(x.dtype, torch.float32)
    x, velocity = x.to(precise), velocity.to(precise)
    # torch.var_mean takes several times longer on CPU, and no gradient flows back
    # through the statistics that torch.native_layer_norm returns.
    centred = x - x.mean(dim=-1, keepdim=True)
    scale = torch.rsqrt(centred.square().mean(dim=-1, keepdim=True) + eps)
    if exact:
        x_hat = centred * scale
        along = (x_hat * velocity).mean(dim=-1, keepdim=True)
        velocity = velocity - velocity.mean(dim=-1, keepdim=True) - x_hat * along
    return weight * (scale * velocity)


class JointDropout(nn.Module):
    """Dropout with one mask for a state and its velocity, so that the chain rule behind FFN_v keeps holding.

    Args:
        p: probability that a channel is dropped, 0 <= p < 1.

    Shapes:
        x, velocity: (..., d).

    Raises:
        ValueError: ``p`` out of range.
    """

    def __init__(self, p: float = 0.0) -> None:
        super().__init__()
        if not 0 <= p < 1:
            raise ValueError(f"p: found {p!r}, allowed 0 <= p < 1")
        self.p = p

    def forward(self, x: Tensor, velocity: Tensor | None = None) -> Pair:
        """Both under the same mask while training; unchanged in eval mode."""
        check_pair(x, velocity)
        return shared_dropout(x, velocity, self.p, self.training)

    def extra_repr(self) -> str:
        return f"p={self.p:g}"


def shared_dropout(
    x: Tensor,
    velocity: Tensor | None,
    p: float,
    training: bool,
) -> Pair:
    """Dropout of a state and its velocity, each (..., d), under one mask."""
    if not training or p == 0:
        return x, velocity
    if velocity is None:
        return F.dropout(x, p), None
    mask = F.dropout(torch.ones_like(x), p)
    return x * mask, velocity * mask


class JointMLP(nn.Module):
    """The two-layer mlp (FFN) of a state with FFN_v for its velocity: :eq:`eq-ffn-velocity`.

    ``FFN(X) = phi(X W1 + b1) W2 + b2,  FFN_v(Y) = [phi'(X W1 + b1) * (Y W1)] W2``

    FFN_v is the forward-mode derivative of FFN along Y, also with dropout, since the masks are shared.

    Args:
        dim: channels d of input and output.
        hidden_dim: channels between the two layers.
        activation: one of ``gelu`` (erf), ``gelu_tanh``, ``relu``, ``silu``.
        dropout: probability, after the activation and after the second layer.

    Shapes:
        x, velocity: (..., d).

    Raises:
        ValueError: an argument out of its range.

    Source: Wavy Transformer; parameter names as in timm's Mlp.
    """

    def __init__(self, dim: int, hidden_dim: int, activation: str = "gelu", dropout: float = 0.0) -> None:
        super().__init__()
        check_width("dim", dim)
        check_width("hidden_dim", hidden_dim)
        check_choice("activation", activation, ACTIVATIONS)
        self.activation = activation
        self.fc1 = nn.Linear(dim, hidden_dim)
        self.fc2 = nn.Linear(hidden_dim, dim)
        self.drop1 = JointDropout(dropout)
        self.drop2 = JointDropout(dropout)

    def forward(self, x: Tensor, velocity: Tensor | None = None) -> Pair:
        """FFN(x) and, where there is a velocity, FFN_v of it."""
        check_pair(x, velocity)
        phi, phi_prime_times = ACTIVATIONS[self.activation]
        hidden = self.fc1(x)
        if velocity is not None:
            velocity = phi_prime_times(F.linear(velocity, self.fc1.weight), hidden)
        x, velocity = self.drop1(phi(hidden), velocity)
        if velocity is not None:
            velocity = F.linear(velocity, self.fc2.weight)
        return self.drop2(self.fc2(x), velocity)


def check_pair(x: Tensor, velocity: Tensor | None) -> None:
    """Raise ValueError unless the velocity has the state's shape."""
    if velocity is not None and velocity.shape != x.shape:
        found, allowed = tuple(velocity.shape), tuple(x.shape)
        raise ValueError(f"velocity: found shape {found}, allowed that of x, {allowed}")
