"""The text that a BERT run reads: pairs of spans, masked, and what can be guessed of them without a model."""

from __future__ import annotations

from functools import lru_cache

import torch

from wavy.data.text.context_counts import context_counts, witten_bell
from wavy.data.text.perplexity import perplexity
from wavy.data.text.unigram import unigram_probabilities
from wavy.experiments.bert_run import BertRun
from wavy.training.corpora import run_documents, run_tokenizer
from wavy.training.masking import IGNORED, Masking
from wavy.training.no_context import no_context_probabilities
from wavy.training.pretraining import MaskedPairs
from wavy.training.sentence_pairs import SentencePairs, sentence_pairs

#: Of pairs and of masks that stay; the same for all runs, so that all models are read on the same examples.
DATA_SEED = 0
#: How often each pair of validation and test is read, every time with other tokens masked.
READ = 4


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
    """The masked pairs of a split: in training with new masks at each visit, else :data:`READ` times, fixed masks."""
    most = round(run.masked * run.length)
    masking = Masking.of(run_tokenizer(run), probability=run.masked, max_predictions=max(most, 1))
    pairs = run_pairs(run, split)
    if split == "train":
        return MaskedPairs(pairs, masking)
    return MaskedPairs(SentencePairs(*(torch.cat([each] * READ) for each in vars(pairs).values())), masking, DATA_SEED)


def guesses(run: BertRun, examples: MaskedPairs) -> dict[str, float]:
    """What needs no model, see :func:`wavy.training.bert_metrics.fitted_metrics`; the examples' masks are fixed."""
    tokenizer, train = run_tokenizer(run), run_pairs(run, "train")
    size, special = len(tokenizer), torch.tensor(tokenizer.all_special_ids)
    shown, labels = (ids[examples.fixed[1] != IGNORED] for ids in examples.fixed)
    place = _places(examples.pairs)[examples.fixed[1] != IGNORED]
    hidden = shown == tokenizer.mask_token_id
    unigrams = unigram_probabilities(train.input_ids, size, tokenizer.all_special_ids)
    ordinary = ~torch.isin(train.input_ids, special)
    counts = context_counts(_places(train)[ordinary], train.input_ids[ordinary], 2 * run.length, size)
    by_place = witten_bell(counts, place, labels, unigrams)
    likeliest = witten_bell(counts, torch.arange(len(counts))[:, None], torch.arange(size), unigrams).argmax(dim=1)
    best = no_context_probabilities(
        by_place, witten_bell(counts, place, shown, unigrams), hidden, shown == labels, size - len(special)
    )
    second = examples.pairs.next_sentence_label.double().mean().item()
    return {
        "perplexity": perplexity(unigrams[labels]),
        "hidden_perplexity": perplexity(unigrams[labels[hidden]]),
        "hidden_place_perplexity": perplexity(by_place[hidden]),
        "hidden_place_accuracy": (likeliest[place] == labels)[hidden].double().mean().item(),
        "no_context_perplexity": perplexity(best),
        "accuracy": (labels == unigrams.argmax()).double().mean().item(),
        "nsp_accuracy": max(second, 1 - second),
    }


def _places(pairs: SentencePairs) -> torch.Tensor:
    """Where each token stands, (n, L): its place and which of the two spans it is in, as one number."""
    return 2 * torch.arange(pairs.input_ids.shape[1]) + pairs.token_type_ids
