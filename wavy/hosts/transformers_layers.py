"""A layer of a language model with any residual kind: what the hosts for Bert and GPT-2 share."""

from __future__ import annotations

from torch import Tensor, nn
from transformers.activations import ACT2FN
from transformers.pytorch_utils import Conv1D

from wavy.hosts import pairs
from wavy.hosts.pairs import MATRICES, norm_pair
from wavy.layers import Pair
from wavy.residual import Residual

MATRICES[Conv1D] = lambda conv: conv.weight.t()

#: The activations of transformers that have an FFN_v: name in a config -> name in ``ACTIVATIONS``.
ACTIVATION_NAMES = {
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_accurate": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_python_tanh": "gelu_tanh",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
}

#: Class of an activation of transformers', exactly -> its name in :data:`wavy.layers.activations.ACTIVATIONS`.
_ACTIVATION_CLASSES = {type(ACT2FN[name]): ours for name, ours in ACTIVATION_NAMES.items()}


class WavyLayer(nn.Module):
    """A layer whose first argument is a state or, where the residual has a memory, the pair (state, memory).

    It comes before the library's layer among the bases. ``forward`` takes state and memory apart; the last layer of a
    model hands on the state alone. The library's own attention refuses an empty batch; here it passes as it is.

    Attributes:
        residual: the layer's :class:`wavy.residual.Residual`.
        last: whether this is the last layer; ``None`` until a model decides.
    """

    residual: Residual
    last: bool | None = None

    def __call__(self, hidden_states: Tensor | Pair, *args: object, **kwargs: object) -> Tensor | Pair:
        # Unpacked here, before the library's checkpointing: with use_reentrant=True it sees no tensors inside a tuple.
        x, memory = hidden_states if isinstance(hidden_states, tuple) else (hidden_states, None)
        return super().__call__(x, memory, *args, **kwargs)

    def check_parts(self) -> None:
        """Raise ValueError for a part that the forward pass does not call, and that is not the library's own."""
        raise NotImplementedError

    def cross(self) -> nn.Module:
        """The cross attention; ValueError where the layer has none."""
        if not hasattr(self, "crossattention"):
            raise ValueError("encoder_hidden_states: found a tensor, allowed None without config.add_cross_attention")
        return self.crossattention

    def velocity(self, memory: Tensor | None) -> Tensor | None:
        """The memory where it is a velocity that somebody will read, to be carried through norm and mlp."""
        return memory if self.residual.carries_velocity and not self.last else None

    def hand_on(self, x: Tensor, memory: Tensor | None) -> Tensor | Pair:
        """What the next layer gets."""
        return x if self.last or memory is None else (x, memory)


def normed(norm: nn.LayerNorm, x: Tensor, velocity: Tensor | None) -> Pair:
    """LN of the state and, where there is a velocity, LN_v of it, each (..., d)."""
    return (norm(x), None) if velocity is None else norm_pair(norm, x, velocity)


def activation_name(activation: nn.Module) -> str:
    """The name in :data:`wavy.layers.activations.ACTIVATIONS` of an mlp's activation, whatever the config says.

    Raises:
        ValueError: one through which a velocity cannot pass.
    """
    return _ACTIVATION_CLASSES.get(type(activation)) or pairs.activation_name(activation)


def check_part(name: str, part: nn.Module, allowed: type[nn.Module]) -> None:
    """Raise ValueError for a part whose own parts are called in its place, where that would change the outcome."""
    if type(part) is not allowed:
        raise ValueError(f"{name}: found class {type(part).__name__}, allowed {allowed.__name__} itself")
    if "forward" in part.__dict__:
        raise ValueError(f"{name}: found a forward that was replaced, allowed the class's own")
    if pairs.has_hooks(part):
        raise ValueError(f"{name}: found hooks, allowed none, since a wavy layer calls only the parts within")
