"""The layer profile of a loaded model on a sample of inputs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

import pandas as pd
from torch import nn

from wavy.diagnostics.profile import find_blocks, layer_profile
from wavy.loading.loaded import GraphInput, LoadedModel, short
from wavy.samples.sample import Sample

#: The columns that say what was measured; they are the same for all layers.
FACTS = ["model", "weights", "input"]


def model_profile(loaded: LoadedModel, sample: Sample) -> pd.DataFrame:
    """Run a model once and measure the state after each of its layers.

    Args:
        loaded: from :func:`wavy.loading.load_any`.
        sample: from :func:`wavy.samples.sample_for`.

    Returns:
        The columns :data:`FACTS`, then those of :func:`wavy.diagnostics.layer_profile`.

    Raises:
        ValueError: no layers found, layers that hand on something else than tokens, or a model that does not run on the
            sample.
    """
    try:
        blocks = find_blocks(loaded.model) if loaded.blocks is None else loaded.blocks
        with ExitStack() as stack:
            check = _check_of(loaded, sample)
            for block in blocks:
                stack.callback(block.register_forward_hook(check).remove)
            profile = layer_profile(loaded.model, *sample.inputs, blocks=blocks)
    except Exception as error:  # whatever a model from elsewhere says about its input
        raise ValueError(f"{loaded.name}: cannot be measured on {sample.description} ({short(error)})") from error
    if profile.empty:
        raise ValueError(f"{loaded.name}: found layers that the model never calls, allowed layers that are called")
    facts = {"model": loaded.name, "weights": loaded.weights, "input": sample.description}
    return pd.DataFrame(facts, index=profile.index).join(profile)


def _check_of(loaded: LoadedModel, sample: Sample) -> Callable[[nn.Module, object, object], None]:
    """A hook that refuses what is no state of this sample: maps, tokens before images, windows for images."""
    axes = ("N", "d") if isinstance(loaded.takes, GraphInput) else ("B", "N", "d")
    first = sample.inputs[0].shape[0]

    def check(module: nn.Module, _inputs: object, output: object) -> None:
        while isinstance(output, tuple) and output:
            output = output[0]
        shape = tuple(getattr(output, "shape", ()))
        if shape and (len(shape) != len(axes) or shape[0] != first):
            allowed = f"({', '.join(axes)}) with {axes[0]} = {first}"
            raise ValueError(f"{type(module).__name__} hands on a state of shape {shape}, allowed {allowed}")

    return check
