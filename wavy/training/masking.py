"""Masked language modelling: which tokens a model must guess, drawn anew at each step (Devlin et al., NAACL 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

#: The label of a token that is not predicted; torch's cross-entropy leaves it out.
IGNORED = -100
#: Of the predicted tokens, the share shown as [MASK], and the share shown as a random token; the rest is left.
SHOWN_MASKED, SHOWN_RANDOM = 0.8, 0.1

#: Where a token stands in the order of prediction, how it is shown, and the number of the random token.
Draws = tuple[Tensor, Tensor, Tensor]


@dataclass(frozen=True)
class Masking:
    """Draws the tokens to predict.

    Of the n tokens of a sequence that are not special, round(``probability`` n) are predicted, at least one and at most
    ``max_predictions``: a number, not a chance for each token, as in BERT's recipe.
    """

    vocab_size: int
    mask_id: int
    #: Never predicted, and never shown in place of another token.
    special_ids: tuple[int, ...]
    probability: float = 0.15
    max_predictions: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.probability <= 1:
            raise ValueError(f"probability: found {self.probability}, allowed above 0 to 1")
        if self.max_predictions is not None and self.max_predictions < 1:
            raise ValueError(f"max_predictions: found {self.max_predictions}, allowed 1 or more, or None")

    @classmethod
    def of(cls, tokenizer: PreTrainedTokenizerBase, **options: float) -> Masking:
        """Return the masking for a tokenizer that has a mask token; ``options`` are the last two fields."""
        return cls(len(tokenizer), tokenizer.mask_token_id, tuple(sorted(tokenizer.all_special_ids)), **options)

    def __call__(self, ids: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Mask a batch.

        Args:
            ids: (B, L) int64 token ids.
            generator: On the device of ``ids``; its state fixes what is drawn.

        Returns:
            What the model sees, (B, L): of the predicted tokens 80 % are [MASK], 10 % random and 10 % themselves.
            And the labels, (B, L): the token where it is predicted, -100 elsewhere.
        """
        return self.apply(ids, self.draw(ids.shape, generator))

    def draw(self, shape: Sequence[int], generator: torch.Generator) -> Draws:
        """The random numbers that mask ids of a shape: each sequence's may be drawn alone, and applied with others."""
        chances = [torch.rand(shape, generator=generator, device=generator.device) for _ in range(2)]
        return *chances, torch.randint(len(self._ordinary), shape, generator=generator, device=generator.device)

    def apply(self, ids: Tensor, draws: Draws) -> tuple[Tensor, Tensor]:
        """Mask a batch by numbers drawn for it, (B, L) each; returns what the call does."""
        order, shown, drawn = draws
        predicted = self._first(ids, order)
        random_ids = self._ordinary.to(ids.device)[drawn]
        inputs = ids.masked_fill(predicted & (shown < SHOWN_MASKED), self.mask_id)
        is_random = predicted & (shown >= SHOWN_MASKED) & (shown < SHOWN_MASKED + SHOWN_RANDOM)
        return random_ids.where(is_random, inputs), ids.where(predicted, IGNORED)

    def _first(self, ids: Tensor, order: Tensor) -> Tensor:
        """The tokens to predict: of each sequence those that come first."""
        special = torch.isin(ids, torch.tensor(self.special_ids, dtype=ids.dtype, device=ids.device))
        candidates = (~special).sum(1, keepdim=True)
        number = (self.probability * candidates).round().clamp(1, self.max_predictions)
        rank = order.masked_fill(special, 2.0).argsort(1).argsort(1)
        return (rank < number) & ~special

    @cached_property
    def _ordinary(self) -> Tensor:
        ids = torch.arange(self.vocab_size)
        return ids[~torch.isin(ids, torch.tensor(self.special_ids, dtype=torch.int64))]
