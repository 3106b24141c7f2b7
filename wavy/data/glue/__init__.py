"""GLUE: nine tasks on English sentences and pairs of sentences, by name."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from wavy.checks import check_choice
from wavy.data.attempts import first_available
from wavy.data.glue.tables import TABLES, read_table
from wavy.data.glue.tasks import TASKS
from wavy.data.hub_tables import load_from_hub
from wavy.data.lookup import read_files
from wavy.data.sources import DataUnavailable
from wavy.data.strata import stratified_sample

__all__ = ["TASKS", "GlueData", "load_glue"]

HUB, REVISION = "nyu-mll/glue", "bcdcba79d07bc864c1c254ccfcedcce55bcc9a8c"

log = logging.getLogger("wavy.data")


@dataclass(frozen=True)
class GlueData:
    """The labelled examples of one split."""

    task: str
    split: str
    #: N sentences, or the first of each pair.
    texts_a: list[str]
    #: The second of each pair, ``None`` for single sentences.
    texts_b: list[str] | None
    #: (N,) int64 classes, or float64 scores from 0 to 5.
    labels: np.ndarray
    #: Names of the classes; empty for scores.
    label_names: tuple[str, ...]
    #: Where the data came from.
    source: str

    def __len__(self) -> int:
        return len(self.labels)

    def sample(self, count: int, seed: int = 0) -> GlueData:
        """Draw ``count`` examples, the classes in their shares; a smaller sample lies in a larger one.

        Raises:
            ValueError: ``count`` is not a whole number from 1 to N.
        """
        classes = self.labels if self.label_names else np.zeros(len(self), dtype=np.int64)
        kept = stratified_sample(classes, count, seed)
        texts_b = self.texts_b and [self.texts_b[k] for k in kept]
        return replace(self, texts_a=[self.texts_a[k] for k in kept], texts_b=texts_b, labels=self.labels[kept])


def load_glue(task: str, split: str) -> GlueData:
    """Load the labelled examples of a task of GLUE, in the order of the files.

    Six tasks are looked up as GLUE's own files, whose sha256 is checked: $WAVY_DATA, then the cache. Those not found
    there, and mnli, qqp and qnli, come from the data set ``nyu-mll/glue`` through the package ``datasets``.

    Args:
        task: ``cola`` (is a sentence grammatical?), ``sst2`` (does it praise?), ``mrpc``, ``qqp`` (do two mean the
            same?), ``stsb`` (how alike are two, from 0 to 5?), ``mnli``, ``qnli``, ``rte``, ``wnli`` (does the second
            follow from the first?).
        split: ``train`` or ``validation``; for mnli ``validation_matched`` or ``validation_mismatched`` (texts of
            other kinds than in training); ``test`` for mrpc and stsb alone.

    Raises:
        ValueError: An unknown task, or a split without labels; or $WAVY_DATA or $WAVY_CACHE is no absolute path.
        DataUnavailable: The data could not be had; the message says what was tried and what to do.
    """
    check_choice("task", task, TASKS)
    _check_split(task, split)
    loaders = (_from_files, _from_hub) if task in TABLES else (_from_hub,)
    data = first_available(f"GLUE {task}, {split}", [partial(load, task, split) for load in loaders])
    log.info("GLUE %s, %s: from %s", task, split, data.source)
    return data


def _check_split(task: str, split: str) -> None:
    allowed = TASKS[task].splits
    if str(split).startswith("test") and split not in allowed:
        raise ValueError(
            f"split: found {split!r}, but GLUE does not publish the test labels of {task}; allowed {', '.join(allowed)}"
        )
    check_choice("split", split, allowed)


def _from_files(task: str, split: str) -> GlueData:
    table = TABLES[task][split]
    contents, source = read_files([table.path], [])
    texts, written = read_table(contents[table.path], table)
    names = TASKS[task].label_names
    if not names:
        labels = np.array(written, dtype=np.float64)
    elif written[0] in names:  # RTE writes the names
        labels = np.array([names.index(label) for label in written])
    else:
        labels = np.array(written, dtype=np.int64)
    return _glue_data(task, split, texts, labels, source)


def _from_hub(task: str, split: str) -> GlueData:
    table = load_from_hub(HUB, task, split=split, revision=REVISION)
    labels = np.array(table["label"], dtype=np.int64 if TASKS[task].label_names else np.float64)
    if (labels < 0).any():  # how that data set writes that a label is not published
        raise DataUnavailable(f"{HUB} has no labels of it.")
    return _glue_data(task, split, [list(table[column]) for column in TASKS[task].texts], labels, HUB)


def _glue_data(task: str, split: str, texts: list[list[str]], labels: np.ndarray, source: str) -> GlueData:
    texts_b = texts[1] if len(texts) > 1 else None
    return GlueData(task, split, texts[0], texts_b, labels, TASKS[task].label_names, source)
