"""timm's LayerNorm, mlp and drop path for a state and its velocity; the modules stay timm's own."""

from __future__ import annotations

from torch import Tensor, nn

from wavy import layers
from wavy.layers import Pair, shared_dropout, velocity_norm


def norm_pair(norm: nn.LayerNorm, x: Tensor, velocity: Tensor) -> Pair:
    """LN of the state and LN_v of the velocity with the weights of the host's own module, which is not called.

    Args:
        norm: any ``nn.LayerNorm``.
        x: state, (..., d).
        velocity: same shape.

    Returns:
        Both, (..., d).
    """
    if getattr(norm, "_fast_norm", False):  # timm's own LayerNorm in half precision
        weight = 1.0 if norm.weight is None else norm.weight
        return norm(x), velocity_norm(x, velocity, weight, norm.eps).to(velocity.dtype)
    return layers.norm_pair(x, velocity, norm.weight, norm.bias, norm.eps)


def mlp_pair(mlp: nn.Module, x: Tensor, velocity: Tensor) -> Pair:
    """timm's ``Mlp`` of the state and FFN_v of the velocity, with shared dropout masks; its layers are not called.

    Args:
        mlp: with fc1, act, drop1, norm (Identity), fc2, drop2.
        x: state, (..., d).
        velocity: same shape.

    Returns:
        Both, (..., d).

    Raises:
        ValueError: an activation or a norm within the mlp that has no FFN_v here.
    """
    if not isinstance(mlp.norm, nn.Identity):
        raise ValueError(f"mlp: found {type(mlp.norm).__name__} between its layers, allowed none")
    first, second = (mlp.fc1.weight, mlp.fc1.bias), (mlp.fc2.weight, mlp.fc2.bias)
    dropout = mlp.drop1.p if mlp.drop1.training else 0.0
    pair = layers.mlp_pair(x, velocity, first, second, _activation(mlp.act), dropout)
    return shared_dropout(*pair, mlp.drop2.p, mlp.drop2.training)


def path_mask(drop_path: nn.Module, x: Tensor) -> Tensor | float:
    """The mask of timm's drop path, (B, 1, ..., 1), to be shared by a state and its velocity; 1 where none is drawn."""
    if isinstance(drop_path, nn.Identity) or not drop_path.training:
        return 1.0
    return drop_path(x.new_ones(x.shape[0], *(1,) * (x.dim() - 1)))


def _activation(act: nn.Module) -> str:
    if isinstance(act, nn.GELU):
        return "gelu" if act.approximate == "none" else "gelu_tanh"
    names = {nn.ReLU: "relu", nn.SiLU: "silu"}
    for kind, name in names.items():
        if isinstance(act, kind):
            return name
    raise ValueError(f"act: found {type(act).__name__}, allowed GELU, ReLU, SiLU")
