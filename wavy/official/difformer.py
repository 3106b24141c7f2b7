"""The published DIFFormer: residual kind diffusion, with the names of its own code."""

from __future__ import annotations

from wavy.hosts.difformer import DIFFormer
from wavy.official.ranges import check_positive, is_number


def build(
    *,
    in_channels: int,
    hidden_channels: int,
    out_channels: int,
    num_layers: int = 2,
    num_heads: int = 1,
    kernel: str = "simple",
    alpha: float = 0.5,
    dropout: float = 0.0,
    use_bn: bool = True,
    use_residual: bool = True,
    use_weight: bool = True,
    use_graph: bool = True,
    graph_weight: float = -1,
    use_source: bool = False,
) -> DIFFormer:
    """An empty DIFFormer from the hyper-parameters of the published code.

    Args:
        alpha: tau.
        use_bn: LayerNorm (the name is the published code's).
        use_residual: without it X' = A X, which is tau = 1.
        graph_weight: w in (1 - w) attention + w GCN where positive; else attention + GCN.

    The other arguments are those of :class:`wavy.hosts.difformer.DIFFormer`.

    Returns:
        The model with freshly drawn weights, in training mode.

    Raises:
        ValueError: an argument out of its range; all but alpha and graph_weight are named as in
            :class:`wavy.hosts.difformer.DIFFormer`.

    Source: published code of DIFFormer.
    """
    check_positive("alpha", alpha, 1)
    if not is_number(graph_weight) or graph_weight > 1:
        raise ValueError(f"graph_weight: found {graph_weight!r}, allowed a number <= 1 (0 or less for the plain sum)")
    return DIFFormer(
        in_channels,
        hidden_channels,
        out_channels,
        num_layers=num_layers,
        heads=num_heads,
        kernel=kernel,
        tau=alpha if use_residual else 1.0,
        dropout=dropout,
        use_weight=use_weight,
        use_source=use_source,
        use_graph=use_graph,
        graph_weight=graph_weight if graph_weight > 0 else None,
        use_norm=use_bn,
    )
