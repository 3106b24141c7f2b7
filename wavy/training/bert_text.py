"""The text that a BERT run reads: pairs of spans, masked, and what can be guessed of them without a model."""

from __future__ import annotations

from functools import lru_cache

import torch

from wavy.data.text.unigram import unigram_perplexity, unigram_probabilities
from wavy.experiments.bert_run import BertRun
from wavy.training.corpora import run_documents, run_tokenizer
from wavy.training.masking import IGNORED, Masking
from wavy.training.no_context import no_context_perplexity
from wavy.training.pretraining import MaskedPairs
from wavy.training.sentence_pairs import SentencePairs, sentence_pairs

#: Of pairs and of masks that stay; the same for all runs, so that all models are read on the same examples.
DATA_SEED = 0


def run_pairs(run: BertRun, split: str) -> SentencePairs:
    """The pairs of a split, the same for all models; those of validation and test at most ``run.evaluated``."""
    pairs = _pairs(run.dataset, run.limit, run.vocab_size, run.length, split)
    if split == "train" or len(pairs.input_ids) <= run.evaluated:
        return pairs
    chosen = torch.randperm(len(pairs.input_ids), generator=torch.Generator().manual_seed(DATA_SEED))[: run.evaluated]
    return SentencePairs(*(tensor[chosen] for tensor in vars(pairs).values()))


# Three splits, each short and long.
@lru_cache(maxsize=6)
def _pairs(dataset: str, limit: int | None, vocab_size: int, length: int, split: str) -> SentencePairs:
    run = BertRun(dataset=dataset, limit=limit, vocab_size=vocab_size, length=length)
    return sentence_pairs(run_documents(run, split), run_tokenizer(run), length, DATA_SEED)


def masked_pairs(run: BertRun, split: str) -> MaskedPairs:
    """The masked pairs of a split: in training with new masks at each visit, else with fixed ones."""
    most = round(run.masked * run.length)
    masking = Masking.of(run_tokenizer(run), probability=run.masked, max_predictions=max(most, 1))
    return MaskedPairs(run_pairs(run, split), masking, None if split == "train" else DATA_SEED)


def guesses(run: BertRun, examples: MaskedPairs) -> dict[str, float]:
    """What needs no model, see :func:`wavy.training.bert_metrics.fitted_metrics`; the examples' masks are fixed."""
    tokenizer = run_tokenizer(run)
    train, special = run_pairs(run, "train").input_ids, tokenizer.all_special_ids
    shown, labels = (ids[examples.fixed[1] != IGNORED] for ids in examples.fixed)
    unigrams = unigram_probabilities(train, len(tokenizer), special)
    asked = {"": labels, "hidden_": labels[shown == tokenizer.mask_token_id]}
    pairs = examples.pairs.next_sentence_label.double().mean().item()
    return {
        **{f"{name}perplexity": unigram_perplexity(train, ids, len(tokenizer), special) for name, ids in asked.items()},
        **{f"{name}accuracy": (ids == unigrams.argmax()).double().mean().item() for name, ids in asked.items()},
        "no_context_perplexity": no_context_perplexity(unigrams, shown, labels, tokenizer.mask_token_id),
        "nsp_accuracy": max(pairs, 1 - pairs),
    }
