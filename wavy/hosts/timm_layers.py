"""timm's mlp and drop path for a state and its velocity; the modules stay timm's own."""

from __future__ import annotations

from timm import layers
from timm.layers import Mlp
from torch import Tensor, nn

from wavy.hosts import pairs
from wavy.hosts.pairs import ACTIVATION_NAMES, activation_name
from wavy.layers import Pair, shared_dropout

ACTIVATION_NAMES.update({layers.GELU: "gelu", layers.GELUTanh: "gelu_tanh", layers.Swish: "silu"})


def check_parts(kind: str, norm: nn.Module, mlp: nn.Module) -> None:
    """Check that a velocity can pass a block's second norm and its mlp.

    It takes their weights alone, so it would pass by what a derived class, or a ``forward`` set on one of the modules,
    does otherwise.

    Raises:
        ValueError: classes other than LayerNorm and timm's ``Mlp``, or an mlp with parts of its own.
    """
    if type(norm) not in (nn.LayerNorm, layers.LayerNorm) or type(mlp) is not Mlp:
        found = f"{type(norm).__name__} and {type(mlp).__name__}"
        raise ValueError(f"residual: found {kind!r} with {found}, allowed LayerNorm and Mlp")
    for name, allowed in {"norm": nn.Identity, "drop1": nn.Dropout, "drop2": nn.Dropout}.items():
        if type(part := getattr(mlp, name)) is not allowed:
            found = type(part).__name__
            raise ValueError(f"residual: found {kind!r} with {found} as mlp.{name}, allowed {allowed.__name__}")
    for name, part in {"norm2": norm, "mlp": mlp, "mlp.act": mlp.act, "mlp.fc1": mlp.fc1, "mlp.fc2": mlp.fc2}.items():
        if "forward" in vars(part):
            raise ValueError(f"residual: found {kind!r} with a forward set on {name}, allowed that of its class")
    activation_name(mlp.act)


def mlp_pair(mlp: nn.Module, x: Tensor, velocity: Tensor) -> Pair:
    """timm's ``Mlp`` of the state and FFN_v of the velocity, with shared dropout masks.

    Args:
        mlp: with fc1, act, drop1, norm (Identity), fc2, drop2.
        x: state, (..., d).
        velocity: same shape.

    Returns:
        Both, (..., d).

    Raises:
        ValueError: hooks, or a ``forward``, set on the mlp or its activation, which are not called here.
    """
    for name, part in {"mlp": mlp, "mlp.act": mlp.act}.items():
        if pairs.has_hooks(part):
            raise ValueError(f"{name}: found hooks or a forward set on it, allowed none where a velocity passes")
    pair = pairs.mlp_pair(x, velocity, mlp.fc1, activation_name(mlp.act), mlp.fc2, mlp.drop1)
    return shared_dropout(*pair, mlp.drop2.p, mlp.drop2.training)


def path_mask(drop_path: nn.Module, x: Tensor) -> Tensor | float:
    """The mask of timm's drop path, (B, 1, ..., 1), to be shared by a state and its velocity; 1 where none is drawn."""
    if isinstance(drop_path, nn.Identity) or not drop_path.training:
        return 1.0
    return drop_path(x.new_ones(x.shape[0], *(1,) * (x.dim() - 1)))
