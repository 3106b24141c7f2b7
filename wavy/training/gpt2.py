"""One run of GPT-2, from parameters to metrics."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pandas as pd
import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

from wavy.data.text.bigram import bigram_perplexity
from wavy.data.text.blocks import token_blocks
from wavy.data.text.unigram import unigram_perplexity, unigram_probabilities
from wavy.diagnostics import layer_profile
from wavy.experiments.gpt2 import Gpt2Run
from wavy.results import run_hash
from wavy.training import language
from wavy.training.corpora import run_documents, run_tokenizer
from wavy.training.device import check_device
from wavy.training.language import LanguageFit, Report, long_options, recipe_of, timed_fit
from wavy.training.loop import TokenTask
from wavy.training.masking import IGNORED
from wavy.training.precision import seeded
from wavy.training.requested import requested_setup
from wavy.training.trained_state import attention_measures, state_measures

#: Of the choice of blocks that are evaluated; the same for all runs.
DATA_SEED = 0
#: How many validation blocks a trained model is diagnosed on.
DIAGNOSED = 50


class TokenBlocks(Dataset):
    """Blocks of tokens to predict, but for ends of documents and unknown words.

    Args:
        ids: (n, L).
        special: ids that are read, but not predicted.
    """

    def __init__(self, ids: Tensor, special: list[int]) -> None:
        self.ids = ids
        self.labels = ids.masked_fill(torch.isin(ids, torch.tensor(special)), IGNORED)

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        return {"input_ids": self.ids[index], "labels": self.labels[index]}


def run_blocks(run: Gpt2Run, split: str) -> TokenBlocks:
    """The blocks of a split, the same for all models; those of validation and test at most ``run.evaluated``."""
    ids = _blocks(run.dataset, run.limit, run.vocab_size, run.length, split)
    if split != "train" and len(ids) > run.evaluated:
        ids = ids[torch.randperm(len(ids), generator=torch.Generator().manual_seed(DATA_SEED))[: run.evaluated]]
    return TokenBlocks(ids, run_tokenizer(run).all_special_ids)


@lru_cache(maxsize=3)
def _blocks(dataset: str, limit: int | None, vocab_size: int, length: int, split: str) -> Tensor:
    run = Gpt2Run(dataset=dataset, limit=limit, vocab_size=vocab_size, length=length)
    return token_blocks(run_documents(run, split), run_tokenizer(run), length, "stream").ids


def build_gpt2(run: Gpt2Run) -> nn.Module:
    """The untrained model of a run; the same run always gives the same weights."""
    from wavy.hosts.gpt2 import WavyGPT2Config, WavyGPT2LMHeadModel  # noqa: PLC0415 (an extra)

    tokenizer = run_tokenizer(run)
    config = WavyGPT2Config(
        vocab_size=len(tokenizer),
        n_embd=run.dim,
        n_layer=run.depth,
        n_head=run.heads,
        n_inner=run.mlp_dim,
        n_positions=run.length,
        resid_pdrop=run.dropout,
        embd_pdrop=run.dropout,
        attn_pdrop=run.dropout,
        initializer_range=run.init_std,
        residual=run.residual,
        tau=run.tau,
        form=run.form,
        theta_init=run.theta_init or 0.0,
        use_cache=False,
        bos_token_id=tokenizer.sep_token_id,
        eos_token_id=tokenizer.sep_token_id,
    )
    return seeded(lambda: WavyGPT2LMHeadModel(config), run.seed, run.precision)


def train_gpt2(
    run: Gpt2Run, device: str = "cpu", report: Report = None, folder: Path | None = None, every: int | None = None
) -> LanguageFit:
    """Train the model that ``run`` describes, as :func:`wavy.training.bert.train_bert` does."""
    check_device(device)
    setup = requested_setup(run, device, folder=folder, checkpoint_every=every)
    return timed_fit(
        build_gpt2(run), TokenTask(causal=True), run_blocks(run, "train"), recipe_of(run), setup,
        report=report, params_hash=run_hash(run),
    )  # fmt: skip


def gpt2_metrics(run: Gpt2Run, device: str = "cpu") -> dict[str, float | None]:
    """The metrics of one run, for :func:`wavy.sweep.sweep`."""
    return fitted_metrics(run, train_gpt2(run, device, **long_options(run)), device)


def fitted_metrics(run: Gpt2Run, found: LanguageFit, device: str = "cpu") -> dict[str, float | None]:
    """The metrics of a run that has been trained.

    Beside those of :class:`wavy.training.language.LanguageFit`: of validation (``val_``) and test (``test_``) the loss
    in nats a token, perplexity and accuracy of the next token; the perplexity of unigrams and the share of the most
    frequent token (``guess_``); and the diagnosis of the last state on validation blocks, for the model as initialised
    (``init_``) and as trained.
    """
    ids = diagnosed_ids(run, device)
    return language.fitted_metrics(
        run, found, device,
        task=TokenTask(causal=True),
        parts={"val": run_blocks(run, "valid"), "test": run_blocks(run, "test")},
        guesses=lambda examples: guesses(run, examples),
        diagnosis=lambda model: diagnosis(model, ids, run),
        start=build_gpt2(run),
    )  # fmt: skip


def guesses(run: Gpt2Run, examples: TokenBlocks) -> dict[str, float]:
    """What needs no model: perplexity by unigrams and by bigrams, and the share of the most frequent token."""
    train, tokenizer = run_blocks(run, "train"), run_tokenizer(run)
    special, size = tokenizer.all_special_ids, len(tokenizer)
    predicted = examples.labels[:, 1:] != IGNORED
    before, asked = examples.ids[:, :-1][predicted], examples.ids[:, 1:][predicted]
    frequent = unigram_probabilities(train.ids, size, special).argmax()
    return {
        "perplexity": unigram_perplexity(train.ids, asked, size, special),
        "bigram_perplexity": bigram_perplexity(train.ids, before, asked, size, special),
        "accuracy": (asked == frequent).double().mean().item(),
    }


def diagnosed_ids(run: Gpt2Run, device: str = "cpu") -> Tensor:
    """Validation blocks that a model is diagnosed on."""
    return run_blocks(run, "valid").ids[:DIAGNOSED].to(device)


def diagnosis(model: nn.Module, ids: Tensor, run: Gpt2Run) -> dict[str, float]:
    """The measures of the state and of attention, see :mod:`wavy.training.trained_state`."""
    measures = state_measures(gpt2_profile(model, ids), final_norm=True)
    return measures | attention_measures(model.transformer, {"input_ids": ids}, run.tau)


def gpt2_profile(model: nn.Module, ids: Tensor) -> pd.DataFrame:
    """The layer profile of a model, from the state before the first layer to that after the final norm."""
    transformer = model.transformer
    blocks = [transformer.drop, *transformer.h, transformer.ln_f]
    return layer_profile(transformer, input_ids=ids, blocks=blocks)
