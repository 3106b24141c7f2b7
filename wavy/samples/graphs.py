"""Graphs, and images cut into patches: inputs for wavy's own models, prepared as for their training."""

from __future__ import annotations

from torch import nn

from wavy.data import DataUnavailable, load_graph
from wavy.experiments.difformer_run import SPLIT
from wavy.experiments.transformer import TransformerRun
from wavy.loading.loaded import GraphInput, PatchInput
from wavy.samples.sample import Sample
from wavy.training.graph import prepare_graph
from wavy.training.node import model_inputs
from wavy.training.transformer import run_sequences


def graph_input(model: nn.Module, takes: GraphInput, name: str, seed: int) -> Sample:
    """A graph with self loops and features divided by their sums, as in the DIFFormer experiment.

    Args:
        model: it prepares the graph for itself.
        takes: how many features a node has.
        name: for :func:`wavy.data.load_graph`.
        seed: of the split, which no measure looks at.

    Raises:
        ValueError: an unknown graph, one that cannot be had, or nodes with another number of features.
    """
    try:
        data = prepare_graph(load_graph(name), SPLIT[name], seed)
    except DataUnavailable as error:
        raise ValueError(f"graph: {error}") from None
    if data.num_features != takes.features:
        raise ValueError(
            f"graph: found {data.num_features} features a node in {name}, allowed the {takes.features} that the model "
            "takes; name the graph that it was made for"
        )
    return Sample(model_inputs(model, data), f"graph {name}")


def patch_input(model: nn.Module, takes: PatchInput, limit: int) -> Sample:
    """Handwritten digits cut into patches, as in the book's chapters.

    Raises:
        ValueError: a model of other tokens.
    """
    run = TransformerRun()
    tokens = run_sequences(run).part("test")[0][:limit]
    if tokens.shape[1:] != (takes.tokens, takes.channels):
        raise ValueError(
            f"input: found {tuple(tokens.shape[1:])} tokens and channels in the built-in digits, allowed the "
            f"({takes.tokens}, {takes.channels}) that the model takes; call wavy.diagnostics.layer_profile with yours"
        )
    return Sample((tokens.to(next(model.parameters()).dtype),), "handwritten digits of scikit-learn, in patches")
