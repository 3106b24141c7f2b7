"""DIFFormer's operator, input layer and readout with other residuals and normalisations between them."""

from __future__ import annotations

from functools import partial

from torch import Tensor, nn
from torch_geometric.nn import PairNorm

from wavy.checks import check_choice
from wavy.hosts.difformer import DIFFormerConv
from wavy.hosts.propagation import Propagation
from wavy.remedies.graph_model import GraphModel
from wavy.remedies.layers import InitialResidual, LayerScale, NormedDiffusion, ScaledBranch
from wavy.remedies.norms import ContraNorm

#: Remedies whose layer is a diffusion step of size tau under another norm.
NORMS = {"pairnorm": lambda channels: PairNorm(), "contranorm": ContraNorm}
#: Remedies whose layer has no step size.
LAYERS = {
    "skipinit": lambda channels, num_layers, dropout: ScaledBranch(num_layers**-0.5, dropout),
    "rezero": lambda channels, num_layers, dropout: ScaledBranch(0.0, dropout),
    "layerscale": LayerScale,
    "initial": lambda channels, num_layers, dropout: InitialResidual(channels, dropout),
}


class DIFFormerVariant(GraphModel):
    """DIFFormer with a remedy in place of its residual or its LayerNorm; all else is DIFFormer's.

    A layer is one of :mod:`wavy.remedies.layers` with A X = attention(X) + D^-1/2 A_G D^-1/2 X, the published operator:
    one head, kernel ``simple``, no W_V.

    Args:
        in_channels, hidden_channels, out_channels, num_layers, dropout: see
            :class:`wavy.remedies.graph_model.GraphModel`.
        remedy: a name of :data:`NORMS` or :data:`LAYERS`.
        tau: step size, for the names of :data:`NORMS`; else ``None``.

    Raises:
        ValueError: an unknown remedy.
    """

    prepared_as = Propagation

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int,
        dropout: float = 0.0,
        *,
        remedy: str,
        tau: float | None = None,
    ) -> None:
        check_choice("remedy", remedy, (*NORMS, *LAYERS))
        self.remedy, self.tau = remedy, tau
        super().__init__(in_channels, hidden_channels, out_channels, num_layers, dropout)

    def build(self, channels: int, num_layers: int, dropout: float) -> None:
        """The operators, the layers, and the last norm that a pre-norm network needs."""
        self.convs = nn.ModuleList(DIFFormerConv(channels, 1, "simple", False) for _ in range(num_layers))
        self.layers = nn.ModuleList(self._layer(channels, num_layers, dropout) for _ in range(num_layers))
        self.last_norm = nn.LayerNorm(channels) if self.remedy == "layerscale" else nn.Identity()

    def _layer(self, channels: int, num_layers: int, dropout: float) -> nn.Module:
        if self.remedy in NORMS:
            return NormedDiffusion(NORMS[self.remedy](channels), self.tau, dropout)
        return LAYERS[self.remedy](channels, num_layers, dropout)

    def propagation(self, edge_index: Tensor, num_nodes: int, edge_weight: Tensor | None = None) -> Propagation:
        """The graph, to be passed as ``graph`` where it is used more than once."""
        return Propagation(edge_index, num_nodes, edge_weight, "sym", self.readout.weight.dtype)

    def evolve(self, x: Tensor, graph: Propagation) -> Tensor:
        """The last state from the first one, both (N, d)."""
        start = x
        for conv, layer in zip(self.convs, self.layers, strict=True):
            x = layer(x, partial(conv, propagation=graph, graph_weight=None), start)
        return self.last_norm(x)
