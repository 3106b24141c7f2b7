"""DIFFormer, the graph transformer of the paper's graph experiments, with any residual kind."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wavy.checks import check_choice, check_whole
from wavy.dynamics import KINDS
from wavy.hosts.affine_attention import affine_simple_attention
from wavy.hosts.attention import KERNELS, simple_attention
from wavy.hosts.conversion import ResidualOptions, converter
from wavy.hosts.features import feature_linear
from wavy.hosts.pairs import has_hooks
from wavy.hosts.propagation import Propagation
from wavy.layers import JointDropout, JointLayerNorm
from wavy.residual import Residual

#: ``published``: attention + D^-1/2 A_G D^-1/2. ``row_stochastic``: the mean of attention and D^-1 A_G, where A_G is
#: the adjacency matrix of the graph.
OPERATORS = {"published": "sym", "row_stochastic": "row"}


class DIFFormerConv(nn.Module):
    """The operator of one layer, A X: global attention joined with propagation along the edges.

    Args:
        channels: d, of input and output.
        heads: attention heads; each has d channels, and their outputs are averaged.
        kernel: ``simple`` or ``sigmoid``.
        use_weight: multiply the values by W_V (else the values are X itself).

    Shapes:
        x and the result: (N, d).
    """

    def __init__(self, channels: int, heads: int, kernel: str, use_weight: bool) -> None:
        super().__init__()
        self.heads, self.attention = heads, KERNELS[kernel]
        self.Wq = nn.Linear(channels, heads * channels)
        self.Wk = nn.Linear(channels, heads * channels)
        self.Wv = nn.Linear(channels, heads * channels) if use_weight else None

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        for linear in self.children():
            linear.reset_parameters()

    def forward(self, x: Tensor, propagation: Propagation | None, graph_weight: float | None) -> Tensor:
        """A X for the state X.

        Args:
            x: state, (N, d).
            propagation: the graph part; ``None`` leaves attention alone.
            graph_weight: w in (1 - w) attention + w GCN; ``None`` for their sum.

        Returns:
            (N, d).
        """
        attended, value = self._attend(x)
        if propagation is None:
            return attended
        propagated = propagation(value)
        if graph_weight is None:
            return attended + propagated
        return (1 - graph_weight) * attended + graph_weight * propagated

    def _attend(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Attention's output and its values, each averaged over the heads, (N, d)."""
        if self.attention is simple_attention and all(_is_plain(linear) for linear in self.children()):
            query, key = ((linear.weight, linear.bias) for linear in (self.Wq, self.Wk))
            attended = affine_simple_attention(x, self.heads, query, key)
            return (_mean_of_heads(attended), x) if self.Wv is None else self._values(attended, x)
        split = (x.shape[0], self.heads, x.shape[1])
        query, key = self.Wq(x).view(split), self.Wk(x).view(split)
        value = x.unsqueeze(1).expand(split) if self.Wv is None else self.Wv(x).view(split)
        attended = _mean_of_heads(self.attention(query, key, value))
        return attended, x if self.Wv is None else _mean_of_heads(value)

    def _values(self, attended: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        # The rows of A sum to 1, so that A (X W + b) = (A X) W + b.
        weight, bias = (tensor.unflatten(0, (self.heads, -1)) for tensor in (self.Wv.weight, self.Wv.bias))
        weight, bias = weight.transpose(0, 1) / self.heads, bias.mean(dim=0)
        return F.linear(attended.flatten(1), weight.flatten(1), bias), F.linear(x, weight.sum(dim=1), bias)


def _mean_of_heads(x: Tensor) -> Tensor:
    return x.squeeze(1) if x.shape[1] == 1 else x.mean(dim=1)


def _is_plain(linear: nn.Module) -> bool:
    """Whether its weight and bias say all that a module does: no adapter, no hook."""
    return type(linear) is nn.Linear and linear.bias is not None and not has_hooks(linear)


class DIFFormer(nn.Module):
    """DIFFormer with any residual kind: :eq:`eq-difformer`.

    A layer is (X, M) <- dropout(LN(Residual(X, A X, M))), where A X = attention(X) + GCN(X). Before the layers stand
    Linear, LayerNorm, ReLU and dropout; after them Linear. A velocity passes LayerNorm as LN_v and shares the state's
    dropout mask. State dict names are the published ones (``fcs``, ``convs.i.Wq``, ``bns``), plus
    ``residuals.i.theta`` for the kinds that have a lambda.

    Args:
        in_channels: features F of a node.
        hidden_channels: channels d of the state.
        out_channels: classes C.
        num_layers: layers L.
        heads: attention heads, averaged.
        kernel: ``simple``, O(N) memory, or ``sigmoid``, O(N^2).
        residual: kind, see :class:`wavy.residual.Residual`.
        tau: step size (``alpha`` in the published code).
        theta_init: start value of theta.
        lam: a fixed lambda in place of a trained one.
        dropout: probability.
        use_weight: give attention a value projection W_V.
        use_source: add X^0 to A X in every layer.
        use_graph: propagate along the edges at all.
        graph_weight: w in (1 - w) attention + w GCN; ``None`` for the operator's default (a plain sum for
            ``published``, 1/2 for ``row_stochastic``).
        use_norm: apply LayerNorm after the input and after every layer (its parameters exist either way, as published).
        operator: ``published`` (attention plus D^-1/2 A_G D^-1/2, A_G the adjacency matrix; not row stochastic) or
            ``row_stochastic`` (the mean of attention and D^-1 A_G, so that I - A is a Laplacian; beyond the paper).
        standardize: bring each channel of the last state to mean 0 and deviation 1 over the nodes before the readout,
            so that what all nodes share does not reach it (beyond the paper).

    Shapes:
        - **input:** x (N, F), dense or sparse CSR (dense alone under the transforms of ``torch.func``); edge_index
          (2, E) with the self loops that are wanted, or a prepared graph; edge_weight (E,) or ``None``.
        - **output:** logits (N, C).

    Raises:
        ValueError: an argument out of its range, or a graph prepared for another model.

    Source: DIFFormer (Wu et al., ICLR 2023) and its published code; Wavy Transformer for the residual.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        heads: int = 1,
        kernel: str = "simple",
        residual: str = "diffusion",
        tau: float = 0.5,
        theta_init: float = 0.0,
        lam: float | None = None,
        dropout: float = 0.0,
        use_weight: bool = False,
        use_source: bool = False,
        use_graph: bool = True,
        graph_weight: float | None = None,
        use_norm: bool = True,
        operator: str = "published",
        standardize: bool = False,
    ) -> None:
        super().__init__()
        for name in ("in_channels", "hidden_channels", "out_channels", "num_layers", "heads"):
            check_whole(name, locals()[name])
        check_choice("residual", residual, KINDS)
        check_choice("kernel", kernel, KERNELS)
        check_choice("operator", operator, OPERATORS)
        if graph_weight is not None and not 0 < graph_weight <= 1:
            raise ValueError(f"graph_weight: found {graph_weight!r}, allowed None or 0 < graph_weight <= 1")
        self.operator, self.use_source, self.use_graph, self.use_norm = operator, use_source, use_graph, use_norm
        self.standardize = standardize
        self.graph_weight = 0.5 if graph_weight is None and operator == "row_stochastic" else graph_weight
        layers = range(num_layers)
        self.fcs = nn.ModuleList([nn.Linear(in_channels, hidden_channels), nn.Linear(hidden_channels, out_channels)])
        self.convs = nn.ModuleList(DIFFormerConv(hidden_channels, heads, kernel, use_weight) for _ in layers)
        self.residuals = nn.ModuleList(Residual(hidden_channels, residual, tau, theta_init, lam=lam) for _ in layers)
        self.bns = nn.ModuleList(JointLayerNorm(hidden_channels) for _ in range(num_layers + 1))
        self.dropouts = nn.ModuleList(JointDropout(dropout) for _ in range(num_layers + 1))

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        for module in (*self.fcs, *self.convs, *self.residuals, *self.bns):
            module.reset_parameters()

    def state_modules(self) -> list[nn.Module]:
        """The modules whose outputs are X^0 ... X^L, for :func:`wavy.diagnostics.layer_profile`."""
        return list(self.dropouts)

    def propagation(self, edge_index: Tensor, num_nodes: int, edge_weight: Tensor | None = None) -> Propagation:
        """The graph part of the operator, to be passed as ``edge_index`` when a graph is used more than once."""
        return Propagation(edge_index, num_nodes, edge_weight, OPERATORS[self.operator], self.fcs[1].weight.dtype)

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor | Propagation,
        edge_weight: Tensor | None = None,
    ) -> Tensor:
        """Class logits, (N, C)."""
        propagation = self._prepared(edge_index, x.shape[0], edge_weight)
        x, memory = self._finish_layer(0, feature_linear(self.fcs[0], x), None)
        source = x
        layers = zip(self.convs, self.residuals, strict=True)
        for layer, (conv, residual) in enumerate(layers, start=1):
            ax = conv(x, propagation, self.graph_weight)
            if self.use_source:
                ax = ax + source
            x, memory = residual(x, ax, memory)
            if residual.carries_velocity:
                x, memory = self._finish_layer(layer, x, memory)
            else:
                x, _ = self._finish_layer(layer, x, None)
        return self.fcs[1](_standardized(x) if self.standardize else x)

    def _prepared(
        self, edge_index: Tensor | Propagation, num_nodes: int, edge_weight: Tensor | None
    ) -> Propagation | None:
        if self.use_graph and not isinstance(edge_index, Propagation):
            return self.propagation(edge_index, num_nodes, edge_weight)
        if edge_weight is not None:
            raise ValueError("edge_weight: found a tensor that this call cannot use, allowed None")
        if not self.use_graph:
            return None
        dtype = self.fcs[1].weight.dtype
        found = edge_index.norm, edge_index.num_nodes, edge_index.dtype
        if found != (allowed := (OPERATORS[self.operator], num_nodes, dtype)):
            raise ValueError(f"edge_index: found a graph prepared for norm, nodes and type {found}, allowed {allowed}")
        return edge_index

    def _finish_layer(self, layer: int, x: Tensor, velocity: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """LayerNorm (ReLU after the input layer) and dropout."""
        if self.use_norm:
            x, velocity = self.bns[layer](x, velocity)
        if layer == 0:
            x = F.relu(x)
        return self.dropouts[layer](x, velocity)


def _standardized(x: Tensor) -> Tensor:
    """Each channel of (N, d) with mean 0 and deviation 1 over the nodes; a constant channel becomes 0."""
    x = x - x.mean(dim=0)
    variance = x.square().mean(dim=0)
    return x * torch.where(variance > 0, variance, torch.ones_like(variance)).rsqrt()


@converter(DIFFormer)
def _convert(model: DIFFormer, options: ResidualOptions) -> None:
    for layer, own in enumerate(model.residuals):
        model.residuals[layer] = options.build(own.dim, model.fcs[1].weight, own.tau, own.form)
