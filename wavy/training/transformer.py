"""One run of the small transformer, from parameters to fit."""

from __future__ import annotations

import pandas as pd
import torch

from wavy.data.images.patches import load_digit_patches
from wavy.diagnostics import layer_profile, spectral_gap, wave_growth
from wavy.experiments.transformer import TransformerRun
from wavy.hosts.transformer import Transformer
from wavy.training.device import check_device
from wavy.training.sequence import SequenceData, SequenceFit, fit_sequence_classifier, split

#: How many test images the attention of a trained model is looked at.
ATTENTION_IMAGES = 50


def run_sequences(run: TransformerRun, device: str = "cpu") -> SequenceData:
    """The digits of a run as token sequences, split by the run's seed; pixels have mean 0 and deviation 1."""
    tokens, labels = load_digit_patches()
    tokens = tokens.to(device, getattr(torch, run.dtype))
    return split((tokens - tokens.mean()) / tokens.std(), labels.to(device), run.seed)


def build_transformer(run: TransformerRun) -> Transformer:
    """The untrained model of a run; the same run always gives the same weights."""
    tokens, labels = load_digit_patches()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(run.seed)
        return Transformer(
            tokens.shape[2],
            tokens.shape[1],
            run.dim,
            int(labels.max()) + 1,
            run.depth,
            heads=run.heads,
            mlp_dim=run.mlp_dim,
            residual=run.residual,
            tau=run.tau,
            theta_init=run.theta_init or 0.0,
            form=run.form,
            norm=run.norm,
            use_value=run.use_value,
            dropout=run.dropout,
            exact_norm=run.exact_norm,
        ).to(getattr(torch, run.dtype))


def train_transformer(run: TransformerRun, device: str = "cpu") -> SequenceFit:
    """Train the model that ``run`` describes; the same run on the same machine gives the same fit."""
    check_device(device)
    model = build_transformer(run).to(device)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(run.seed)
        return fit_sequence_classifier(
            model,
            run_sequences(run, device),
            epochs=run.epochs,
            batch_size=run.batch_size,
            lr=run.lr,
            weight_decay=run.weight_decay,
        )


def transformer_metrics(run: TransformerRun, device: str = "cpu") -> dict[str, float | None]:
    """The metrics of one run, for :func:`wavy.sweep.sweep`.

    Beside the accuracies: measures of the state after the last block relative to before the first, on the test part,
    for the model as initialised (``init_``) and as trained; and of its attention, means over blocks, heads and
    ``ATTENTION_IMAGES`` test images: ``gap``, and ``growth``, the largest factor of a full-wave mode in one layer.
    """
    fit = train_transformer(run, device)
    tokens, _ = fit.data.part("test")
    metrics = dict(fit.metrics)
    for prefix, model in (("init_", build_transformer(run).to(device)), ("", fit.model)):
        metrics |= {prefix + name: value for name, value in _ends(layer_profile(model, tokens)).items()}
    with torch.no_grad():
        a = torch.stack(fit.model.attention_matrices(tokens[:ATTENTION_IMAGES])).double()
    metrics["gap"] = spectral_gap(a).mean().item()
    metrics["growth"] = wave_growth(a, run.tau).mean().item()
    return metrics


def _ends(profile: pd.DataFrame) -> dict[str, float]:
    """Cosine and rank of the last state, and what is left of the variance between tokens."""
    first, last = profile.iloc[0], profile.iloc[-1]
    return {
        "cosine": last["cosine"].item(),
        "effective_rank": last["effective_rank"].item(),
        "energy_ratio": (last["dirichlet_energy"] / first["dirichlet_energy"]).item(),
    }
