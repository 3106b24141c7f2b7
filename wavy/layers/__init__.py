"""LayerNorm, mlp and dropout for a state and its velocity together.

Each module maps ``(x, velocity)`` to ``(x, velocity)``; a velocity of ``None`` stays ``None`` and costs nothing.
Without a velocity the modules are the ordinary ones, with the ordinary parameter names. :func:`norm_pair` and
:func:`mlp_pair` do the same with the weights of a host model's own layers.
"""

from wavy.layers.activations import ACTIVATIONS
from wavy.layers.dropout import JointDropout, shared_dropout
from wavy.layers.formulas import mlp_formula, norm_formula, velocity_norm
from wavy.layers.mlp import JointMLP
from wavy.layers.mlp_function import mlp_pair
from wavy.layers.norm import JointLayerNorm
from wavy.layers.norm_function import norm_pair
from wavy.layers.pair import Pair, check_pair

__all__ = [
    "ACTIVATIONS",
    "JointDropout",
    "JointLayerNorm",
    "JointMLP",
    "Pair",
    "check_pair",
    "mlp_formula",
    "mlp_pair",
    "norm_formula",
    "norm_pair",
    "shared_dropout",
    "velocity_norm",
]
