"""From a model of wavy's own back to the arguments that it was built with."""

from __future__ import annotations

from collections.abc import Callable

from torch import nn

from wavy.hosts.attention import KERNELS
from wavy.residual import Residual

Arguments = dict[str, object]


def residual_arguments(model: nn.Module) -> Arguments:
    """Those of its residuals, as :func:`wavy.hosts.conversion.wavify` takes them."""
    first = next(module for module in model.modules() if isinstance(module, Residual))
    return {"residual": first.kind, "tau": first.tau, "theta_init": first.theta_init, "form": first.form}


def _difformer(model: nn.Module) -> Arguments:
    conv = model.convs[0]
    return {
        "in_channels": model.fcs[0].in_features,
        "hidden_channels": model.fcs[0].out_features,
        "out_channels": model.fcs[1].out_features,
        "num_layers": len(model.convs),
        "heads": conv.heads,
        "kernel": next(name for name, attention in KERNELS.items() if attention is conv.attention),
        "dropout": model.dropouts[0].p,
        "use_weight": conv.Wv is not None,
        "use_source": model.use_source,
        "use_graph": model.use_graph,
        "graph_weight": model.graph_weight,
        "use_norm": model.use_norm,
        "operator": model.operator,
        "standardize": model.standardize,
        "lam": model.residuals[0].lam,
    }


def _transformer(model: nn.Module) -> Arguments:
    block = model.blocks[0]
    return {
        "in_channels": model.embed.in_features,
        "num_tokens": model.position.shape[0],
        "dim": model.embed.out_features,
        "out_channels": model.head.out_features,
        "num_layers": len(model.blocks),
        "heads": block.attention.heads,
        "mlp_dim": block.mlp.fc1.out_features,
        "norm": block.norm,
        "use_value": block.attention.value is not None,
        "dropout": block.mlp.drop1.p,
        "exact_norm": block.norm1.exact,
    }


#: Class of a model -> what tells its arguments, but for those of the residual.
ARGUMENTS: dict[str, Callable[[nn.Module], Arguments]] = {"DIFFormer": _difformer, "Transformer": _transformer}
