"""What loading gives: a model, where its weights come from, and the kind of input it takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import Tensor, nn

if TYPE_CHECKING:
    from PIL.Image import Image
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True)
class ImageInput:
    """Images.

    Args:
        prepare: from RGB images to the one batch that the model is called with, (B, 3, height, width).
    """

    prepare: Callable[[list[Image]], Tensor]


@dataclass(frozen=True)
class TextInput:
    """Token ids, (B, N).

    Args:
        vocabulary: how many ids there are.
        longest: the most tokens in a row that the model takes; ``None`` where nothing limits them.
        padding: the id that stands for no token, if there is one.
        tokenizer: from text to ids; ``None`` where none came with the model.
    """

    vocabulary: int
    longest: int | None = None
    padding: int | None = None
    tokenizer: PreTrainedTokenizerBase | None = None


@dataclass(frozen=True)
class GraphInput:
    """The features of N nodes, (N, features), and the edges between them."""

    features: int


@dataclass(frozen=True)
class PatchInput:
    """Images that are cut into tokens already, (B, tokens, channels), as the book's small transformer takes them."""

    tokens: int
    channels: int


@dataclass(frozen=True)
class LoadedModel:
    """A model that is ready to be looked at.

    Args:
        name: as it was asked for, with the options that were changed.
        model: what is called with one batch of inputs.
        weights: where they come from, in words.
        takes: the kind of input.
        blocks: the modules whose outputs are the states, or ``None`` for those that
            :func:`wavy.diagnostics.layer_profile` finds.
    """

    name: str
    model: nn.Module
    weights: str
    takes: ImageInput | TextInput | GraphInput | PatchInput
    blocks: list[nn.Module] | None = None


def named(name: str, options: dict[str, object]) -> str:
    """A model's name with the options that were changed."""
    changed = ", ".join(f"{key}={value}" for key, value in options.items())
    return f"{name} ({changed})" if changed else name


def short(error: BaseException) -> str:
    """What the error of a library says, in one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 300 else f"{text[:300]} ..."
