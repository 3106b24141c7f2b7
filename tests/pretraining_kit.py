"""Tiny runs of BERT's pre-training: random tokens, of which some pairs have many to predict and others none."""

from __future__ import annotations

import torch

from loop_kit import WORDS, bert, train
from wavy.training.loop import Setup
from wavy.training.masking import Masking
from wavy.training.pretraining import MaskedPairs, MaskedPredictor, PretrainingTask
from wavy.training.sentence_pairs import SentencePairs

PAD, MASK, FIRST, LENGTH = 0, 1, 2, 8


def pairs(size, seed=None):
    """Masked pairs of 0, 0, 1, 7, 0, 0, 1, 7, ... words, of which 0, 1 or 6 are predicted."""
    generator = torch.Generator().manual_seed(5)
    words, place = torch.tensor([0, 0, 1, LENGTH - 1]).repeat(size)[:size, None], torch.arange(LENGTH)
    ids = torch.randint(FIRST + 1, WORDS, (size, LENGTH), generator=generator)
    ids = ids.where(place <= words, PAD).where(place > 0, FIRST)
    second, real = (place > words // 2) & (place <= words), place <= words
    whole = SentencePairs(ids, second.long(), real.long(), torch.arange(size) % 3 % 2)
    return MaskedPairs(whole, Masking(WORDS, MASK, (PAD, MASK, FIRST), probability=0.8), seed)


def pretraining(kind, nsp):
    """A run; in its fourth step the first of two processes has no token to predict."""
    model = MaskedPredictor(bert(kind, "WavyBertForPreTraining"))
    task, setup = PretrainingTask(nsp, MASK, predictions=6), Setup(micro_batch_size=2, device="cpu")
    examples = pairs(13)
    return train(setup, model, task, examples, validation=pairs(11, seed=0), collate=examples.collate, eps=1e-4)
