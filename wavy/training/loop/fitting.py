"""Train a model on a task: the loop that language and vision share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

import pandas as pd
import torch
from torch import nn
from torch.utils.data import Dataset

from wavy.training.loop.checkpoints import Checkpoints
from wavy.training.loop.examples import Collate
from wavy.training.loop.folders import alone_in
from wavy.training.loop.groups import parameter_groups
from wavy.training.loop.options import Recipe, Setup
from wavy.training.loop.processes import accelerated, check_same_start, check_share, prepared, start_log
from wavy.training.loop.record import Record
from wavy.training.loop.seeds import derived_seed, seed_everything
from wavy.training.loop.sharding import whole_afterwards
from wavy.training.loop.stepping import Stepping
from wavy.training.loop.tasks import Task
from wavy.training.loop.trainable import check_trainable


@dataclass
class Fit:
    """What one run found, also what it found before it was stopped and went on.

    ``history``: one row a step: step (from 1), loss (mean over what the task counts), grad_norm (before clipping), lr.
    ``evaluations``: one row an evaluation: step, and what the task measures.
    ``skipped``: steps without an update, since the scaled gradient of fp16 overflowed.
    """

    model: nn.Module
    history: pd.DataFrame
    evaluations: pd.DataFrame
    skipped: int


def fit(
    model: nn.Module,
    task: Task,
    train: Dataset,
    recipe: Recipe,
    setup: Setup | None = None,
    *,
    validation: Dataset | None = None,
    collate: Collate | None = None,
    params_hash: str = "",
    report: Callable[[str], None] | None = print,
) -> Fit:
    """Train with AdamW, alone or as one of several processes that ``accelerate launch`` or ``torchrun`` has started.

    What is computed depends on the recipe, not on the number of processes, workers or micro-batches, but for rounding
    (and dropout, which each process and micro-batch draws anew). With a folder the run goes on from the latest
    checkpoint there, bit for bit as if it had not stopped, on GPUs as far as their kernels repeat themselves; a run
    that has ended is not trained again.

    Accelerate's configuration decides about processes, devices, FSDP and compilation. Precision and accumulation are
    the run's own, whatever that configuration says, for they change what is computed. Several processes on CPUs are
    started by ``torchrun``; ``accelerate launch`` starts only one there.

    FSDP has been run on CPUs alone, in version 2, with the model sharded as a whole or layer by layer
    (``FSDP_TRANSFORMER_CLS_TO_WRAP=WavyBertLayer``). The model is whole again afterwards. With torch from 2.13 on,
    Accelerate refuses a bare BERT with a head for masked tokens, the stock one too, since two of its biases are one;
    :class:`wavy.training.pretraining.MaskedPredictor` is not refused.

    Args:
        model: trained in place; called by the task.
        task: says what the loss is, and what evaluation measures; see :class:`wavy.training.loop.tasks.Task`.
        train: a data set with a length and items by index. It may draw random numbers from the generators of Python,
            numpy and torch; for those of CUDA the order of calls is not fixed.
        recipe: what is computed.
        setup: where and how.
        validation: evaluated as the setup says, and after the last step.
        collate: joins a list of examples to a batch; ``None`` for torch's default.
        params_hash: of the run, see :func:`wavy.results.run_hash`; a checkpoint of another one is refused.
        report: called with a line of progress every few seconds, in the main process; ``None`` for silence.

    Raises:
        NonFinite: loss, gradient or weights are not finite. In the first two cases the weights are those before the
            step.
        ValueError: arguments that do not fit together, a checkpoint of another run, or a folder that cannot be written
            or that another run writes to.
        ModuleNotFoundError: a package of an extra is missing; the message names it.

    Returns:
        A :class:`Fit`, the same in all processes, with the model in eval mode.
    """
    setup = setup or Setup()
    for name, examples in (("train", train), ("validation", validation)):
        if examples is not None and not len(examples):
            raise ValueError(f"{name}: found no examples, allowed at least one")
    check_trainable(model, recipe.precision)
    with (
        accelerated(recipe.precision, setup) as accelerator,
        alone_in(setup.folder, accelerator.is_main_process),
        whole_afterwards(accelerator, model) as trained,
    ):
        processes = accelerator.num_processes
        check_share(recipe, processes)
        facts = {"params_hash": params_hash, "parameters": sum(weights.numel() for weights in model.parameters())}
        facts |= {"examples": len(train), "processes": processes, **asdict(recipe)}
        checkpoints = Checkpoints(setup.folder, facts, setup.keep) if setup.folder else None
        earlier = checkpoints.record() if checkpoints else None
        record = Record(**earlier) if earlier else Record()
        check_same_start(accelerator, record.step)
        seed_everything(derived_seed(recipe.seed, accelerator.process_index))
        optimizer = torch.optim.AdamW(
            parameter_groups(trained, recipe.weight_decay), recipe.lr, recipe.betas, recipe.eps
        )
        with prepared(accelerator, trained, optimizer) as (wrapped, optimizer):
            if earlier:
                checkpoints.load(accelerator)
            start_log(accelerator, setup, record.step)
            Stepping(
                accelerator, wrapped, optimizer, task, recipe, setup, train, validation, collate, checkpoints, record
            ).run(report if accelerator.is_main_process else None)
    model.eval()
    return Fit(model, record.history_table(), pd.DataFrame(record.evaluations), record.skipped)
