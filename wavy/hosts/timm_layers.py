"""timm's mlp and drop path for a state and its velocity; the modules stay timm's own."""

from __future__ import annotations

from torch import Tensor, nn

from wavy.hosts import pairs
from wavy.hosts.pairs import activation_name
from wavy.layers import Pair, shared_dropout


def mlp_pair(mlp: nn.Module, x: Tensor, velocity: Tensor) -> Pair:
    """timm's ``Mlp`` of the state and FFN_v of the velocity, with shared dropout masks.

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
    pair = pairs.mlp_pair(x, velocity, mlp.fc1, activation_name(mlp.act), mlp.fc2, mlp.drop1)
    return shared_dropout(*pair, mlp.drop2.p, mlp.drop2.training)


def path_mask(drop_path: nn.Module, x: Tensor) -> Tensor | float:
    """The mask of timm's drop path, (B, 1, ..., 1), to be shared by a state and its velocity; 1 where none is drawn."""
    if isinstance(drop_path, nn.Identity) or not drop_path.training:
        return 1.0
    return drop_path(x.new_ones(x.shape[0], *(1,) * (x.dim() - 1)))
