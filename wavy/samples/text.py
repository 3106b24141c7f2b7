"""Text for a model: pieces of a file or of a built-in passage, all of one length, so that none needs padding."""

from __future__ import annotations

import importlib.resources
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from wavy.loading.loaded import TextInput
from wavy.samples.sample import Sample

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

#: Tokens in a piece where nothing else is asked for.
LENGTH = 128

#: More characters than a token has on average in any tokenizer; a longer file is not read to its end.
CHARACTERS = 20


def text_input(takes: TextInput, file: Path | None, limit: int, length: int | None, seed: int) -> Sample:
    """Token ids (B, N): the first pieces of a text, each with the special tokens that the tokenizer sets around it.

    Args:
        takes: the model's tokenizer and limits. A model without tokenizer gets random ids, unless a file is given.
        file: in UTF-8; ``None`` for the built-in passage.
        limit: the most pieces.
        length: tokens in a piece, its special ones included; ``None`` for 128, or as many as the model and the text
            have.
        seed: of random ids.

    Raises:
        ValueError: a file that cannot be read or holds no text, no tokenizer for it, or a length out of its range.
    """
    longest = min(LENGTH, takes.longest or LENGTH)
    if length is not None and not 2 <= length <= (takes.longest or length):
        raise ValueError(f"length: found {length}, allowed 2 to {takes.longest or 'any'}")
    if takes.tokenizer is None:
        if file is not None:
            raise ValueError("text: found no tokenizer in the folder of the model, allowed one saved beside it")
        ids = _random_ids(takes, limit, length or longest, seed)
        return Sample((ids,), f"{limit} x {length or longest} random ids, since the model has no tokenizer")
    text = _passage() if file is None else _read(file, CHARACTERS * limit * (length or longest))
    ids = _pieces(takes.tokenizer, text, limit, length, longest)
    name = "a built-in passage of English" if file is None else str(file)
    return Sample((ids,), f"{len(ids)} x {ids.shape[1]} tokens of {name}")


def _pieces(tokenizer: PreTrainedTokenizerBase, text: str, limit: int, length: int | None, longest: int) -> Tensor:
    ids = _encode(tokenizer, text, special=False)
    before, after = _special_ids(tokenizer, text)
    special = len(before) + len(after)
    length = min(longest, len(ids) + special) if length is None else length
    if length < 2 or not 0 < length - special <= len(ids):
        raise ValueError(
            f"text: found {len(ids)} tokens, allowed enough for one piece of {max(length, 2)}, of which {special} are "
            "special ones"
        )
    step = length - special
    starts = range(0, len(ids) - step + 1, step)[:limit]
    return torch.tensor([[*before, *ids[start : start + step], *after] for start in starts])


def _special_ids(tokenizer: PreTrainedTokenizerBase, text: str) -> tuple[list[int], list[int]]:
    """The ids that the tokenizer sets before and after a text."""
    bare, whole = (_encode(tokenizer, text[:1000], special) for special in (False, True))
    start = next((k for k in range(len(whole)) if whole[k : k + len(bare)] == bare), 0)
    return whole[:start], whole[start + len(bare) :]


def _encode(tokenizer: PreTrainedTokenizerBase, text: str, special: bool) -> list[int]:
    return tokenizer(text, add_special_tokens=special, verbose=False)["input_ids"]


def _random_ids(takes: TextInput, limit: int, length: int, seed: int) -> Tensor:
    others = [token for token in range(takes.vocabulary) if token != takes.padding]
    if not others:
        raise ValueError(f"text: found a vocabulary of {takes.vocabulary}, allowed one id or more besides the padding")
    drawn = torch.randint(len(others), (limit, length), generator=torch.Generator().manual_seed(seed))
    return torch.tensor(others)[drawn]


def _read(file: Path, characters: int) -> str:
    try:
        with open(file, encoding="utf-8") as stream:
            return stream.read(characters)
    except OSError as error:
        raise ValueError(f"text: {file} cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise ValueError(f"text: {file} is not UTF-8") from None


def _passage() -> str:
    return importlib.resources.files("wavy.samples").joinpath("passage.txt").read_text(encoding="utf-8")
