"""Which layer of a list is its last one, and hands on the state alone."""

from __future__ import annotations

import copy

from torch import nn


def mark_last(layers: nn.ModuleList) -> None:
    """Let the last place of a list, and no other, hand on the state alone: its layer's attribute ``last``.

    Wavy's models call it before each forward pass, since layers may have been added or removed. A layer that has its
    mark keeps it, for it may stand in other places or in other models too: where the place needs the other mark, it
    gets a copy with the very same parts.
    """
    end, copies = len(layers) - 1, {}
    for place, layer in enumerate(layers):
        # A wrapper, as of nn.Sequential, hides the mark of its layer, which it then keeps.
        found = getattr(layer, "last", place == end)
        if found is None:
            layer.last = place == end
        elif found != (place == end):
            if layer not in copies:
                copies[layer] = _copy(layer, place == end)
            layers[place] = copies[layer]


def _copy(layer: nn.Module, last: bool) -> nn.Module:
    copied = copy.copy(layer)
    # Hooks of its own: who hooks each layer of a list would otherwise hook these parts twice.
    for name, hooks in vars(layer).items():
        if name.endswith(("_hooks", "_hooks_with_kwargs", "_hooks_always_called")):
            setattr(copied, name, copy.copy(hooks))
    copied.last = last
    return copied
