"""Weights of trained language models in the cache, for what starts from them.

The cache only saves time: where it cannot be written, or what it holds is of no use, a model is trained again.
"""

from __future__ import annotations

import copy
import hashlib
import json
import logging
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import torch
from torch import nn

from wavy.data.cache import cache_folder, one_at_a_time
from wavy.experiments.language_run import LanguageRun
from wavy.results import run_hash
from wavy.training.corpora import run_tokenizer
from wavy.training.language import LanguageFit
from wavy.training.loop.processes import all_agree, is_main

log = logging.getLogger("wavy.training")

#: The name, in the metadata of a file, of the digest of the vocabulary whose tokens the model reads.
VOCABULARY = "vocabulary"


def weights_file(run: LanguageRun) -> Path:
    """Where the weights of a run's model are kept. A change of the code does not change the name."""
    return cache_folder() / "models" / run.experiment / f"{run_hash(run)}.safetensors"


class DivergedError(ValueError):
    """What should start from a run's weights cannot, since the run diverges."""

    @classmethod
    def of(cls, run: LanguageRun) -> DivergedError:
        """The error for this run."""
        return cls(f"weights: found a run that diverges ({run_hash(run)}), allowed one that trains")


def keep_weights(found: LanguageFit, run: LanguageRun) -> None:
    """Keep the weights of a run that has been trained, or a mark that it diverged.

    A cache that cannot be written is told.
    """
    from safetensors import SafetensorError  # noqa: PLC0415 (an extra)

    try:
        if found.metrics["diverged"]:
            weights_file(run).parent.mkdir(parents=True, exist_ok=True)
            _mark(run).touch()
        else:
            save_weights(found.model, run)
    except (OSError, SafetensorError) as error:
        log.warning("cache: %s could not be stored (%s)", weights_file(run), type(error).__name__)


def has_diverged(run: LanguageRun) -> bool:
    """Whether a run is known to diverge, by the mark of an earlier time."""
    return _mark(run).exists()


def _mark(run: LanguageRun) -> Path:
    return weights_file(run).with_suffix(".diverged")


def save_weights(model: nn.Module, run: LanguageRun) -> None:
    """Write the weights of a run's model; other processes see the file whole or not at all.

    Raises:
        OSError: the cache cannot be written; where writing itself fails, it is safetensors' own error.
    """
    from safetensors.torch import save_model  # noqa: PLC0415 (an extra)

    file = weights_file(run)
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=file.parent, prefix=".partial-") as folder:
        part = Path(folder) / file.name
        save_model(model, str(part), metadata={VOCABULARY: vocabulary_digest(run)})
        os.replace(part, file)


def load_weights(model: nn.Module, run: LanguageRun) -> bool:
    """Give a model the weights that are kept for a run; whether there are any.

    A file that is damaged, of another model, of a model that reads another vocabulary, or of one that diverged is told
    and passed by; the model is then as it was before.
    """
    from safetensors import SafetensorError  # noqa: PLC0415 (an extra)
    from safetensors.torch import load_model  # noqa: PLC0415 (an extra)

    file = weights_file(run)
    if not file.exists():
        return False
    # Loading stops at the first misfit, when a part of the weights has been overwritten.
    before = copy.deepcopy(model.state_dict())
    try:
        _check_vocabulary(file, run)
        load_model(model, str(file))
        _check_finite(model)
    except (OSError, RuntimeError, ValueError, SafetensorError) as error:
        model.load_state_dict(before)
        log.warning("cache: %s is passed by (%s)", file, " ".join(str(error).split()))
        return False
    return True


def vocabulary_digest(run: LanguageRun) -> str:
    """A digest of the tokens and their numbers: the text of a run, and so its tokens, may follow package versions."""
    tokens = sorted(run_tokenizer(run).get_vocab().items())
    return hashlib.sha256(json.dumps(tokens).encode()).hexdigest()


def _check_vocabulary(file: Path, run: LanguageRun) -> None:
    """Raise ValueError where a file says that its model reads another vocabulary; older files do not say."""
    from safetensors import safe_open  # noqa: PLC0415 (an extra)

    with safe_open(str(file), framework="pt") as opened:
        kept = (opened.metadata() or {}).get(VOCABULARY)
    if kept is not None and kept != vocabulary_digest(run):
        raise ValueError("vocabulary: found another one, allowed that of the run")


def _check_finite(model: nn.Module) -> None:
    """Raise ValueError where a weight is no finite number: earlier versions kept such models."""
    for name, weight in model.state_dict().items():
        if not torch.isfinite(weight).all():
            raise ValueError(f"{name}: found a number that is not finite, allowed finite ones")


@contextmanager
def one_trainer(run: LanguageRun, device: str = "cpu") -> Iterator[None]:
    """Let one program at a time train a run; the others wait, as long as it takes, and then find its weights.

    A program of several processes has the lock in its main one, and all of them enter once it is held. (They wait for
    the main one no longer than torch's time limit of a process group.)
    """
    lock = one_at_a_time(weights_file(run).with_suffix(".lock"), seconds=-1) if is_main(device) else nullcontext()
    with lock:
        all_agree(True, device)
        yield
