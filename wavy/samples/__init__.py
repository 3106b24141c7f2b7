"""Inputs to look at a model with: the user's own images, text or graph, or built-in ones of the kind that it takes."""

# ruff: noqa: PLC0415
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wavy.loading.loaded import GraphInput, ImageInput, LoadedModel, PatchInput, TextInput
from wavy.samples.sample import Sample

__all__ = ["Sample", "Source", "sample_for"]

#: Kind of input -> what it is called, and the options that say more of it.
KINDS = {
    ImageInput: ("images", ("--images",)),
    TextInput: ("text", ("--text", "--length")),
    GraphInput: ("a graph", ("--graph",)),
    PatchInput: ("images in patches, built-in ones alone", ()),
}


@dataclass(frozen=True)
class Source:
    """Where inputs come from; at most one is given, and without any they are built in.

    Args:
        images: a folder of images.
        text: a file in UTF-8.
        graph: a name for :func:`wavy.data.load_graph`.
    """

    images: Path | None = None
    text: Path | None = None
    graph: str | None = None


def sample_for(
    loaded: LoadedModel, source: Source, limit: int = 16, length: int | None = None, seed: int = 0
) -> Sample:
    """Inputs for a model.

    Args:
        loaded: the model.
        source: where they come from.
        limit: the most images, or pieces of text.
        length: tokens in a piece of text; ``None`` for 128, or as many as the model and the text have.
        seed: of ids that are drawn where a model has no tokenizer, and of a graph's split.

    Raises:
        ValueError: a source of another kind than the model takes, or one that cannot be read.
    """
    takes = loaded.takes
    kind, options = KINDS[type(takes)]
    given = {"--images": source.images, "--text": source.text, "--length": length, "--graph": source.graph}
    if wrong := [option for option, value in given.items() if value is not None and option not in options]:
        allowed = f", allowed {' and '.join(options)}" if options else ""
        raise ValueError(f"{loaded.name}: found {', '.join(wrong)} for a model that takes {kind}{allowed}")
    match takes:  # what a kind of input needs is imported for it alone
        case ImageInput():
            from wavy.samples.images import image_input

            return image_input(takes, source.images, limit)
        case TextInput():
            from wavy.samples.text import text_input

            return text_input(takes, source.text, limit, length, seed)
        case GraphInput():
            from wavy.samples.graphs import graph_input

            return graph_input(loaded.model, takes, source.graph or "digits", seed)
        case PatchInput():
            from wavy.samples.graphs import patch_input

            return patch_input(loaded.model, takes, limit)
