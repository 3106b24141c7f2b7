"""Measures of over-smoothing: of a state, of an attention matrix, and layer by layer in a model."""

from wavy.diagnostics.attention import attention_energy, spectral_gap
from wavy.diagnostics.profile import layer_profile
from wavy.diagnostics.state import (
    class_variances,
    dirichlet_energy,
    effective_rank,
    mean_cosine,
    node_variance,
)

__all__ = [
    "attention_energy",
    "class_variances",
    "dirichlet_energy",
    "effective_rank",
    "layer_profile",
    "mean_cosine",
    "node_variance",
    "spectral_gap",
]
