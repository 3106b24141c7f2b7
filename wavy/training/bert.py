"""One run of BERT's pre-training, from parameters to metrics."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pandas as pd
import torch
from torch import Tensor
from torch.utils.data import Dataset

from wavy.data.text.unigram import unigram_perplexity, unigram_probabilities
from wavy.diagnostics import layer_profile
from wavy.experiments.bert_run import BertRun
from wavy.results import run_hash
from wavy.training import language
from wavy.training.corpora import run_documents, run_tokenizer
from wavy.training.device import check_device
from wavy.training.language import LanguageFit, Report, long_options, recipe_of, timed_fit
from wavy.training.loop import Setup
from wavy.training.masking import IGNORED, Masking
from wavy.training.no_context import no_context_perplexity
from wavy.training.precision import seeded
from wavy.training.pretraining import MaskedPairs, MaskedPredictor, PretrainingTask
from wavy.training.sentence_pairs import SentencePairs, sentence_pairs
from wavy.training.trained_state import attention_measures, state_measures
from wavy.training.weights import keep_weights, load_weights, one_trainer

#: Of pairs and of masks that stay; the same for all runs, so that all models are read on the same examples.
DATA_SEED = 0
#: How many full validation pairs a trained model is diagnosed on.
DIAGNOSED = 50
SPECIAL = 3  # [CLS] and two [SEP]


def run_pairs(run: BertRun, split: str) -> SentencePairs:
    """The pairs of a split, the same for all models; those of validation and test at most ``run.evaluated``."""
    pairs = _pairs(run.dataset, run.limit, run.vocab_size, run.length, split)
    if split == "train" or len(pairs.input_ids) <= run.evaluated:
        return pairs
    chosen = torch.randperm(len(pairs.input_ids), generator=torch.Generator().manual_seed(DATA_SEED))[: run.evaluated]
    return SentencePairs(*(tensor[chosen] for tensor in vars(pairs).values()))


@lru_cache(maxsize=3)
def _pairs(dataset: str, limit: int | None, vocab_size: int, length: int, split: str) -> SentencePairs:
    run = BertRun(dataset=dataset, limit=limit, vocab_size=vocab_size, length=length)
    return sentence_pairs(run_documents(run, split), run_tokenizer(run), length, DATA_SEED)


def masked_pairs(run: BertRun, split: str) -> MaskedPairs:
    """The masked pairs of a split: in training with new masks at each visit, else with fixed ones."""
    most = round(run.masked * run.length)
    masking = Masking.of(run_tokenizer(run), probability=run.masked, max_predictions=max(most, 1))
    return MaskedPairs(run_pairs(run, split), masking, None if split == "train" else DATA_SEED)


def build_bert(run: BertRun) -> MaskedPredictor:
    """The model of a run before its training; the same run always gives the same weights.

    They are new, or those of the run that this one starts from, which is trained first where it is not in the cache.
    """
    model = _new_bert(run)
    if run.start:
        model.load_state_dict(pretrained_bert(run.start).state_dict())
    return model


def _new_bert(run: BertRun) -> MaskedPredictor:
    from wavy.hosts.bert import WavyBertForPreTraining  # noqa: PLC0415 (an extra)

    return seeded(lambda: MaskedPredictor(WavyBertForPreTraining(bert_config(run))), run.seed, run.precision)


def bert_config(run: BertRun, **options: object) -> object:
    """The model's config, with ``options`` of transformers'."""
    from wavy.hosts.bert import WavyBertConfig  # noqa: PLC0415 (an extra)

    return WavyBertConfig(
        vocab_size=len(run_tokenizer(run)),
        hidden_size=run.dim,
        num_hidden_layers=run.depth,
        num_attention_heads=run.heads,
        intermediate_size=run.mlp_dim,
        max_position_embeddings=run.places,
        hidden_dropout_prob=run.dropout,
        attention_probs_dropout_prob=run.dropout,
        initializer_range=run.init_std,
        residual=run.residual,
        tau=run.tau,
        form=run.form,
        theta_init=run.theta_init or 0.0,
        **options,
    )


def pretraining_task(run: BertRun) -> PretrainingTask:
    """The task of a run; a full pair has so many masked tokens."""
    masked = max(1, round(run.masked * (run.length - SPECIAL)))
    return PretrainingTask(run.nsp, run_tokenizer(run).mask_token_id, masked)


def train_bert(
    run: BertRun,
    device: str = "cpu",
    report: Report = None,
    folder: Path | None = None,
    every: int | None = None,
    read_every: int | None = None,
) -> LanguageFit:
    """Train the model that ``run`` describes; the same run on the same machine gives the same fit.

    Args:
        run: its parameters.
        device: where to train.
        report: called with lines of progress.
        folder: of checkpoints, from which a stopped training goes on.
        every: steps between checkpoints.
        read_every: steps between evaluations on validation data, for the fit's ``evaluations``; they change nothing
            else. ``None`` for none.
    """
    check_device(device)
    setup = Setup(device=device, folder=folder, checkpoint_every=every, evaluate_every=read_every)
    pairs = masked_pairs(run, "train")
    return timed_fit(
        build_bert(run), pretraining_task(run), pairs, recipe_of(run), setup,
        report=report, validation=masked_pairs(run, "valid") if read_every else None, collate=pairs.collate,
        params_hash=run_hash(run),
    )  # fmt: skip


def pretrained_bert(run: BertRun, device: str = "cpu") -> MaskedPredictor:
    """The trained model of a run, from the cache where it is; else it is trained and kept there.

    Raises:
        ValueError: the run diverges.
    """
    model = _new_bert(run)
    with one_trainer(run):
        if not load_weights(model, run):
            found = train_bert(run, device, **long_options(run))
            if found.metrics["diverged"]:
                raise ValueError(f"pretraining: found a run that diverges ({run_hash(run)}), allowed one that trains")
            keep_weights(found, run)
            model = found.model
    return model.to(device).eval()


def bert_metrics(run: BertRun, device: str = "cpu") -> dict[str, float | None]:
    """The metrics of one run, for :func:`wavy.sweep.sweep`; its weights are kept for what starts from them."""
    found = train_bert(run, device, **long_options(run))
    keep_weights(found, run)
    return fitted_metrics(run, found, device)


def fitted_metrics(run: BertRun, found: LanguageFit, device: str = "cpu") -> dict[str, float | None]:
    """The metrics of a run that has been trained.

    Beside those of :class:`wavy.training.language.LanguageFit`: of validation (``val_``) and test (``test_``), on fixed
    masks, what :class:`wavy.training.pretraining.PretrainingTask` measures; what needs no model (``guess_``): the
    perplexity of unigrams and the share of the most frequent token, of all masked tokens and of those shown as [MASK],
    the perplexity of the best predictor without context (:mod:`wavy.training.no_context`), and the share of the larger
    class of pairs;
    and the diagnosis of the last state, see :mod:`wavy.training.trained_state`, on full validation pairs, for the model
    as initialised (``init_``) and as trained.
    """
    inputs = diagnosed_inputs(run, device)
    return language.fitted_metrics(
        run, found, device,
        task=pretraining_task(run),
        parts={"val": masked_pairs(run, "valid"), "test": masked_pairs(run, "test")},
        guesses=lambda examples: guesses(run, examples),
        diagnosis=lambda model: diagnosis(model, inputs, run),
        start=build_bert(run),
    )  # fmt: skip


def guesses(run: BertRun, examples: Dataset) -> dict[str, float]:
    """What needs no model, see :func:`fitted_metrics`."""
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


def diagnosed_inputs(run: BertRun, device: str = "cpu") -> dict[str, Tensor]:
    """Unmasked validation pairs without padding, as the model's inputs."""
    pairs = run_pairs(run, "valid")
    full = pairs.attention_mask.all(dim=1).nonzero()[:DIAGNOSED, 0]
    names = ("input_ids", "token_type_ids", "attention_mask")
    return {name: getattr(pairs, name)[full].to(device) for name in names}


def diagnosis(model: MaskedPredictor, inputs: dict[str, Tensor], run: BertRun) -> dict[str, float]:
    """The measures of the state and of attention, see :mod:`wavy.training.trained_state`."""
    return state_measures(bert_profile(model, inputs)) | attention_measures(model.bert.bert, inputs, run.tau)


def bert_profile(model: MaskedPredictor, inputs: dict[str, Tensor]) -> pd.DataFrame:
    """The layer profile of a model on its inputs; layer 0 is the state before the first layer."""
    return layer_profile(model.bert.bert, blocks=model.state_modules(), **inputs)
