"""The data of a GLUE run: what is trained on, what selects, and what judges."""

from __future__ import annotations

import numpy as np
import torch
from torch.utils.data import Subset

from wavy.data.glue import GlueData, load_glue
from wavy.data.shared_text import text_groups
from wavy.data.strata import grouped_part
from wavy.experiments.glue import GlueRun
from wavy.training.bert_text import DATA_SEED
from wavy.training.corpora import run_tokenizer
from wavy.training.glue_examples import GlueExamples

#: The official validation split of a task; of mnli the one with texts as in training.
VALIDATION = {"mnli": "validation_matched"}


class GlueParts:
    """A task's data for a run: examples to train on, some held out of them, and the official validation split.

    Raises:
        ValueError: all examples share text, so that none can be held out.
    """

    def __init__(self, run: GlueRun) -> None:
        train = load_glue(run.dataset, "train")
        if run.train_limit and run.train_limit < len(train):
            train = train.sample(run.train_limit, DATA_SEED)
        self.train_labels = train.labels
        self.validation_data = load_glue(run.dataset, VALIDATION.get(run.dataset, "validation"))
        everything, self.validation = (self._encoded(run, data) for data in (train, self.validation_data))
        held = held_out(train, run.held_out)
        self.held_out, self.train = (Subset(everything, np.flatnonzero(part).tolist()) for part in (held, ~held))
        self.collate, self.classes = everything.collate, everything.classes

    def _encoded(self, run: GlueRun, data: GlueData) -> GlueExamples:
        dtype = torch.float64 if run.precision == "float64" else torch.float32
        return GlueExamples(data, run_tokenizer(run.pretraining), run.length, dtype)


def held_out(data: GlueData, share: float) -> np.ndarray:
    """Which examples are held out of training: a part that shares no text with the others.

    Sentences of one or two words are an exception, see :func:`wavy.data.shared_text.text_groups`. The classes have
    their shares as well as the groups allow; scores are rounded down to classes.

    Args:
        data: of a task.
        share: of the examples, at most.

    Returns:
        (N,) bool.
    """
    return grouped_part(data.labels.astype(np.int64), text_groups(data.texts_a, data.texts_b), share, DATA_SEED)
