"""What training a language model takes besides its data: recipe, evaluation, and the clock."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
from torch import nn
from torch.utils.data import Dataset

from wavy.experiments.language_run import LanguageRun
from wavy.training.clock import calls_a_step, round_starts
from wavy.training.long_runs import checkpoint_folder
from wavy.training.loop import Recipe, Setup, Task, fit
from wavy.training.loop.evaluation import evaluate
from wavy.training.loop.examples import Collate
from wavy.training.loop.finite import NonFinite
from wavy.training.loop.processes import accelerated
from wavy.training.loop.seeds import kept_generators
from wavy.training.precision import mixed_precision
from wavy.training.requested import micro_batch_size

log = logging.getLogger("wavy.training")

#: The training loss of a row is the mean over this share of the steps, the last ones.
LAST = 0.05
#: Steps between the checkpoints of a long run.
EVERY = 1000

Report = Callable[[str], None] | None


@dataclass
class LanguageFit:
    """What one training run found. ``model`` holds the weights after the last step, in eval mode: none are selected.

    ``metrics``: last_loss (mean over the last steps); the mean time of a step with its share of the evaluations, in
    seconds, step_seconds by the clock and step_cpu_seconds of this process, over the steps since the run was last
    started; parameters; diverged (1 where loss, gradient or weights stopped being finite).
    ``history``, ``evaluations``: as in :class:`wavy.training.loop.fitting.Fit`; empty where the run diverged.
    """

    model: nn.Module
    metrics: dict[str, float | None]
    history: pd.DataFrame
    evaluations: pd.DataFrame


def recipe_of(run: LanguageRun) -> Recipe:
    """The training recipe of a run."""
    return Recipe(
        steps=run.steps,
        batch_size=run.batch_size,
        lr=run.lr,
        weight_decay=run.weight_decay,
        warmup=int(run.warmup * run.steps),
        clip=run.clip,
        precision=mixed_precision(run.precision),
        seed=run.seed,
    )


def long_options(run: LanguageRun) -> dict[str, Any]:
    """For training a run that takes hours: folder of checkpoints, steps between them, report; empty for others."""
    folder = checkpoint_folder(run)
    return {"folder": folder, "every": EVERY, "report": print} if folder else {}


def timed_fit(
    model: nn.Module, task: Task, train: Dataset, recipe: Recipe, setup: Setup, *, report: Report = None, **options: Any
) -> LanguageFit:
    """Train a model; one that diverges ends as it is then.

    The arguments are those of :func:`wavy.training.loop.fitting.fit`. The generators of random numbers go on afterwards
    as if nothing had been drawn.
    """
    history, evaluations, diverged = pd.DataFrame(), pd.DataFrame(), 0
    start = time.perf_counter(), time.process_time()
    try:
        with kept_generators(), round_starts(model, calls_a_step(recipe, setup)) as steps:
            found = fit(model, task, train, recipe, setup, report=report, **options)
        history, evaluations = found.history, found.evaluations
    except NonFinite as error:
        log.warning("%s", error)
        diverged = 1
    wall, cpu = time.perf_counter() - start[0], time.process_time() - start[1]
    last = max(1, int(LAST * recipe.steps))
    metrics = {
        "last_loss": None if diverged else history["loss"].tail(last).mean().item(),
        "step_seconds": None if diverged or not steps else wall / len(steps),
        "step_cpu_seconds": None if diverged or not steps else cpu / len(steps),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "diverged": diverged,
    }
    return LanguageFit(model.eval(), metrics, history, evaluations)


def measured(
    model: nn.Module, task: Task, examples: Dataset, run: LanguageRun, device: str, collate: Collate | None = None
) -> dict[str, float]:
    """What a task measures on a data set, in the precision of the weights: single, or double for ``float64``.

    The half precision of a run holds while it trains, and in the evaluations between its steps.
    """
    at_once = micro_batch_size() or run.batch_size
    with accelerated(mixed_precision(run.precision), Setup(device=device)) as accelerator:
        return evaluate(accelerator, model, task, examples, batch_size=at_once, collate=collate)


def fitted_metrics(
    run: LanguageRun,
    found: LanguageFit,
    device: str,
    *,
    task: Task,
    parts: Mapping[str, Dataset],
    guesses: Callable[[Dataset], dict[str, float]],
    diagnosis: Callable[[nn.Module], dict[str, float]],
    start: nn.Module,
) -> dict[str, float | None]:
    """The metrics of a run that has been trained, beside those of its fit; ``None`` where it diverged.

    Args:
        run: its parameters.
        found: its fit.
        device: where to measure.
        task: what is measured.
        parts: name of a part, for instance ``val`` -> its examples. A row has ``val_loss`` and so on.
        guesses: of examples, what needs no model, for instance ``val_guess_perplexity``.
        diagnosis: of a model; as it was at the start in ``init_cosine`` and so on, as trained in ``cosine``.
        start: the model before training.
    """
    metrics = dict(found.metrics)
    diverged = metrics["diverged"]
    for name, examples in parts.items():
        guessed = guesses(examples)
        nothing = dict.fromkeys(("loss", *guessed))
        scores = nothing if diverged else measured(found.model, task, examples, run, device)
        metrics |= {f"{name}_{measure}": value for measure, value in scores.items()}
        metrics |= {f"{name}_guess_{measure}": value for measure, value in guessed.items()}
    before = diagnosis(start.to(device))
    after = dict.fromkeys(before) if diverged else diagnosis(found.model)
    return metrics | {f"init_{measure}": value for measure, value in before.items()} | after
