"""Every remedy by its name."""

from __future__ import annotations

from torch import nn

from wavy.checks import check_choice
from wavy.dynamics import KINDS
from wavy.hosts.difformer import DIFFormer
from wavy.remedies.difformer import LAYERS, NORMS, DIFFormerVariant
from wavy.remedies.dropedge import DropEdge
from wavy.remedies.grand import GRAND
from wavy.remedies.graph_model import GraphModel
from wavy.remedies.graphcon import GraphCON
from wavy.remedies.initial_residual import APPNP, GCNII
from wavy.remedies.pdegcn import PDEGCNDiffusion, PDEGCNWave
from wavy.remedies.plain import GAT, GCN, MLP
from wavy.residual import check_step

#: Models of their own.
MODELS: dict[str, type[GraphModel]] = {
    "gcn": GCN,
    "gat": GAT,
    "mlp": MLP,
    "appnp": APPNP,
    "gcnii": GCNII,
    "graphcon": GraphCON,
    "pdegcn_diffusion": PDEGCNDiffusion,
    "pdegcn_wave": PDEGCNWave,
    "grand": GRAND,
}
#: DIFFormer as it is, with any residual kind, with the start added in each layer, and with DropEdge.
DIFFORMERS = (*KINDS, "source", "dropedge")
#: Names that need a step size tau.
WITH_TAU = (*DIFFORMERS, *NORMS)
#: All names.
NAMES = (*WITH_TAU, *LAYERS, *MODELS)
#: Names as people read them; residual kinds have theirs in :data:`wavy.companion.figures.LABELS`.
TITLES = {
    "source": "source term",
    "dropedge": "DropEdge",
    "pairnorm": "PairNorm",
    "contranorm": "ContraNorm",
    "skipinit": "SkipInit",
    "rezero": "ReZero",
    "layerscale": "LayerScale",
    "initial": "initial residual",
    "gcn": "GCN",
    "gat": "GAT",
    "mlp": "mlp, no graph",
    "appnp": "APPNP",
    "gcnii": "GCNII",
    "graphcon": "GraphCON",
    "pdegcn_diffusion": "PDE-GCN, diffusion",
    "pdegcn_wave": "PDE-GCN, wave",
    "grand": "GRAND",
}


def model_name(name: str) -> str:
    """The network that a remedy is part of, for instance ``DIFFormer``."""
    return MODELS[name].__name__ if name in MODELS else "DIFFormer"


def build_remedy(
    name: str,
    in_channels: int,
    hidden_channels: int,
    out_channels: int,
    num_layers: int,
    dropout: float = 0.0,
    tau: float | None = None,
) -> nn.Module:
    """An untrained model, called as ``model(x, graph) -> logits (N, C)``.

    Args:
        name: one of :data:`NAMES`.
        in_channels, hidden_channels, out_channels, num_layers, dropout: see
            :class:`wavy.remedies.graph_model.GraphModel`.
        tau: step size, for the names of :data:`WITH_TAU`; else ``None``.

    Raises:
        ValueError: an unknown name, a size out of its range, or a tau where there is none, or none where there is one.
    """
    check_choice("name", name, NAMES)
    check_tau(name, tau)
    sizes = (in_channels, hidden_channels, out_channels, num_layers)
    if name in MODELS:
        return MODELS[name](*sizes, dropout)
    if name in (*NORMS, *LAYERS):
        return DIFFormerVariant(*sizes, dropout, remedy=name, tau=tau)
    kind = name if name in KINDS else "diffusion"
    model = DIFFormer(*sizes, residual=kind, tau=tau, dropout=dropout, use_source=name == "source")
    return DropEdge(model) if name == "dropedge" else model


def check_tau(name: str, tau: float | None) -> None:
    """Check that a step size stands where, and only where, a remedy has one.

    Raises:
        ValueError: one line that says what is allowed.
    """
    if (tau is not None) != (name in WITH_TAU):
        raise ValueError(f"tau: found {tau!r} for {name}, allowed {'a number' if name in WITH_TAU else 'None'}")
    if tau is not None:
        check_step(tau, "euler")
