"""The metrics of a BERT run: what its model predicts, and what is left of the differences between tokens."""

from __future__ import annotations

import pandas as pd
from torch import Tensor

from wavy.diagnostics import layer_profile
from wavy.experiments.bert_run import BertRun
from wavy.training import language
from wavy.training.bert import build_bert, pretraining_task, train_bert
from wavy.training.bert_text import guesses, masked_pairs, run_pairs
from wavy.training.language import LanguageFit, long_options
from wavy.training.pretraining import MaskedPredictor
from wavy.training.trained_state import attention_measures, state_measures
from wavy.training.weights import DivergedError, keep_weights, one_trainer

#: How many full validation pairs a trained model is diagnosed on.
DIAGNOSED = 50


def bert_metrics(run: BertRun, device: str = "cpu") -> dict[str, float | None]:
    """The metrics of one run, for :func:`wavy.sweep.sweep`; its weights are kept for what starts from them.

    A run that starts from one that diverges has diverged, too.
    """
    try:
        with one_trainer(run, device):
            found = train_bert(run, device, **long_options(run))
            keep_weights(found, run)
    except DivergedError:
        return {"diverged": 1}
    return fitted_metrics(run, found, device)


def fitted_metrics(run: BertRun, found: LanguageFit, device: str = "cpu") -> dict[str, float | None]:
    """The metrics of a run that has been trained.

    Beside those of :class:`wavy.training.language.LanguageFit`: of validation (``val_``) and test (``test_``), on fixed
    masks, what :class:`wavy.training.pretraining.PretrainingTask` measures; what needs no model (``guess_``): the
    perplexity of unigrams, of all masked tokens and of those shown as [MASK] (``hidden_``); of the latter the
    perplexity and accuracy of the frequencies by place; the perplexity of the best predictor that knows these and what
    is shown, but no context (:mod:`wavy.training.no_context`); the shares of the most frequent token and of the larger
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
        start=build_bert(run, device),
    )  # fmt: skip


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
