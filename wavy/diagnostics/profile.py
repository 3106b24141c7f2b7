"""The layer profile: the measures of a model's state after each layer, in one forward pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack

import pandas as pd
import torch
from torch import Tensor, nn

from wavy.diagnostics.state import class_variances, dirichlet_energy, effective_rank, mean_cosine, node_variance


@torch.no_grad()
def layer_profile(
    model: nn.Module,
    *inputs: object,
    blocks: Sequence[nn.Module] | None = None,
    labels: Tensor | None = None,
    **kwargs: object,
) -> pd.DataFrame:
    """Run ``model(*inputs, **kwargs)`` once in eval mode and measure the state after each block.

    Args:
        model: any module. Its modes (of every part) and hooks are as before afterwards.
        *inputs: what to call it with.
        blocks: the modules whose outputs are the states, in order. ``None`` takes ``model.state_modules()`` where the
            model has that method, else the longest ``nn.ModuleList`` or ``nn.Sequential`` whose members are of one
            class, as the layers of a transformer are.
        labels: classes of the tokens, (N,); adds the class variances.
        **kwargs: what to call it with.

    Returns:
        One row a layer, means over the batch: layer (0 is the first), module (its name), tokens, cosine,
        dirichlet_energy, node_variance, effective_rank, and with labels between_class and within_class.

    Raises:
        ValueError: no blocks found, or a block whose output holds no state (..., N, d).
    """
    names = {module: name for name, module in model.named_modules()}
    rows: list[dict[str, object]] = []

    def measure(module: nn.Module, _inputs: object, output: object) -> None:
        # At once, so that no more than one state is kept.
        name = names.get(module, type(module).__name__)
        rows.append({"layer": len(rows), "module": name, **_measure(state_of(output, name), labels)})

    run_hooked(model, blocks, measure, *inputs, **kwargs)
    return pd.DataFrame(rows)


def run_hooked(
    model: nn.Module, blocks: Sequence[nn.Module] | None, hook: Callable, *inputs: object, **kwargs: object
) -> None:
    """Run ``model(*inputs, **kwargs)`` once in eval mode, with a forward hook on each block; then all is as before."""
    blocks = find_blocks(model) if blocks is None else blocks
    modes = [(module, module.training) for module in model.modules()]
    with ExitStack() as stack:
        for block in dict.fromkeys(blocks):  # a block used twice is hooked once, and calls its hook twice
            stack.callback(block.register_forward_hook(hook).remove)
        for module, training in modes:
            stack.callback(setattr, module, "training", training)
        model.eval()(*inputs, **kwargs)


def find_blocks(model: nn.Module) -> list[nn.Module]:
    """The modules whose outputs are the model's states, in order (see :func:`layer_profile`).

    Raises:
        ValueError: the model has no ``state_modules`` and no list of layers of one class.
    """
    if hasattr(model, "state_modules"):
        return model.state_modules()
    lists = [list(m) for m in model.modules() if isinstance(m, (nn.ModuleList, nn.Sequential)) and len(m)]
    alike = [members for members in lists if len({type(member) for member in members}) == 1]
    if not alike:
        raise ValueError("blocks: found None and no list of layers in the model, allowed a list of modules")
    return max(alike, key=lambda members: (len(members), _size(members)))


def _size(modules: list[nn.Module]) -> int:
    return sum(parameter.numel() for module in modules for parameter in module.parameters())


def state_of(output: object, name: str) -> Tensor:
    """The state in a block's output, which may be a pair with its memory, a tuple or a named output."""
    first = output
    while isinstance(first, (tuple, list)) and first:
        first = first[0]
    if hasattr(first, "last_hidden_state"):
        first = first.last_hidden_state
    if not isinstance(first, Tensor) or first.dim() < 2 or not first.is_floating_point():
        raise ValueError(f"blocks: {name} gave {type(first).__name__}, allowed a module whose output is (..., N, d)")
    return first.detach()


def _measure(x: Tensor, labels: Tensor | None) -> dict[str, float]:
    # Half precision has no SVD, and sums over many tokens need the digits.
    x = x.double()
    measures = {
        "cosine": mean_cosine(x) if x.shape[-2] > 1 else torch.ones(()),
        "dirichlet_energy": dirichlet_energy(x),
        "node_variance": node_variance(x),
        "effective_rank": effective_rank(x),
    }
    if labels is not None:
        measures["between_class"], measures["within_class"] = class_variances(x, labels)
    return {"tokens": x.shape[-2]} | {name: value.mean().item() for name, value in measures.items()}
