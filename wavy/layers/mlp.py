"""The two-layer mlp for a state and its velocity."""

from __future__ import annotations

from torch import Tensor, nn

from wavy.checks import check_choice, check_whole
from wavy.layers.activations import ACTIVATIONS
from wavy.layers.dropout import JointDropout
from wavy.layers.mlp_function import mlp_pair
from wavy.layers.pair import Pair, check_pair


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
        check_whole("dim", dim)
        check_whole("hidden_dim", hidden_dim)
        check_choice("activation", activation, ACTIVATIONS)
        self.activation = activation
        self.fc1 = nn.Linear(dim, hidden_dim)
        self.fc2 = nn.Linear(hidden_dim, dim)
        self.drop1 = JointDropout(dropout)
        self.drop2 = JointDropout(dropout)

    def forward(self, x: Tensor, velocity: Tensor | None = None) -> Pair:
        """FFN(x) and, where there is a velocity, FFN_v of it."""
        check_pair(x, velocity)
        if velocity is None:
            hidden, _ = self.drop1(ACTIVATIONS[self.activation][0](self.fc1(x)))
            return self.drop2(self.fc2(hidden))
        first, second = (self.fc1.weight, self.fc1.bias), (self.fc2.weight, self.fc2.bias)
        dropout = self.drop1.p if self.drop1.training else 0.0
        return self.drop2(*mlp_pair(x, velocity, first, second, self.activation, dropout))
