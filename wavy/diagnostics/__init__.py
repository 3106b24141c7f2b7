"""Measures of over-smoothing: of a state, of an attention matrix, and layer by layer in a model."""

from wavy.diagnostics.attention import (
    attention_energy,
    reversibility_defect,
    spectral_gap,
    stationary_distribution,
    wave_growth,
)
from wavy.diagnostics.profile import layer_profile
from wavy.diagnostics.state import (
    class_variances,
    dirichlet_energy,
    effective_rank,
    mean_cosine,
    node_variance,
    relative_residual,
)
from wavy.diagnostics.tokens import token_cosines, token_deviations

__all__ = [
    "attention_energy",
    "class_variances",
    "dirichlet_energy",
    "effective_rank",
    "layer_profile",
    "mean_cosine",
    "node_variance",
    "relative_residual",
    "reversibility_defect",
    "spectral_gap",
    "stationary_distribution",
    "token_cosines",
    "token_deviations",
    "wave_growth",
]
