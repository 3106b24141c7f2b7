"""BERT's pre-training, from the parameters of a run to a trained model."""

from __future__ import annotations

import logging
from pathlib import Path

from wavy.experiments.bert_run import BertRun
from wavy.results import run_hash
from wavy.training.bert_text import masked_pairs
from wavy.training.corpora import run_tokenizer
from wavy.training.device import check_device
from wavy.training.language import LanguageFit, Report, long_options, recipe_of, timed_fit
from wavy.training.loop.processes import all_agree
from wavy.training.precision import seeded
from wavy.training.pretraining import MaskedPredictor, PretrainingTask
from wavy.training.requested import requested_setup
from wavy.training.weights import DivergedError, has_diverged, keep_weights, load_weights, one_trainer

log = logging.getLogger("wavy.training")

SPECIAL = 3  # [CLS] and two [SEP]


def build_bert(run: BertRun, device: str = "cpu") -> MaskedPredictor:
    """The model of a run before its training; the same run always gives the same weights.

    They are new, or those of the run that this one starts from, which is trained first, on the device, where it is not
    in the cache. The model itself is on the CPU.

    Raises:
        wavy.training.weights.DivergedError: that run diverges.
    """
    model = _new_bert(run)
    if run.start:
        model.load_state_dict(pretrained_bert(run.start, device).state_dict())
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
    setup = requested_setup(run, device, folder=folder, checkpoint_every=every, evaluate_every=read_every)
    pairs = masked_pairs(run, "train")
    return timed_fit(
        build_bert(run, device), pretraining_task(run), pairs, recipe_of(run), setup,
        report=report, validation=masked_pairs(run, "valid") if read_every else None, collate=pairs.collate,
        params_hash=run_hash(run),
    )  # fmt: skip


def pretrained_bert(run: BertRun, device: str = "cpu") -> MaskedPredictor:
    """The trained model of a run, from the cache where it is; else it is trained, which is told, and kept there.

    Raises:
        wavy.training.weights.DivergedError: the run diverges, or one that it starts from; a run that did so before is
            not tried again.
    """
    model = _new_bert(run)
    with one_trainer(run, device):
        # Machines may have caches of their own: what one process lacks, all of them train.
        if not all_agree(load_weights(model, run), device):
            if not all_agree(not has_diverged(run), device):
                raise DivergedError.of(run)
            log.warning("training a BERT %s: its weights are not in the cache", run)
            found = train_bert(run, device, **long_options(run))
            keep_weights(found, run)
            if found.metrics["diverged"]:
                raise DivergedError.of(run)
            model = found.model
    return model.to(device).eval()
