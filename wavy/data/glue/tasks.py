"""The nine tasks of GLUE (Wang et al., ICLR 2019): what each compares, and the names of its classes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GlueTask:
    """One task, in the names of the data set ``nyu-mll/glue``."""

    #: Columns with the text, or with the two texts that are compared.
    texts: tuple[str, ...]
    #: Names of the classes 0, 1, ...; empty where a score from 0 to 5 is predicted.
    label_names: tuple[str, ...]
    #: Splits with labels. GLUE keeps the labels of its test sets; those of two tasks were published elsewhere.
    splits: tuple[str, ...] = ("train", "validation")


PAIR = ("sentence1", "sentence2")
ENTAILMENT = ("entailment", "not_entailment")

TASKS = {
    "cola": GlueTask(("sentence",), ("unacceptable", "acceptable")),
    "sst2": GlueTask(("sentence",), ("negative", "positive")),
    "mrpc": GlueTask(PAIR, ("not_equivalent", "equivalent"), ("train", "validation", "test")),
    "stsb": GlueTask(PAIR, (), ("train", "validation", "test")),
    "qqp": GlueTask(("question1", "question2"), ("not_duplicate", "duplicate")),
    "mnli": GlueTask(
        ("premise", "hypothesis"),
        ("entailment", "neutral", "contradiction"),
        ("train", "validation_matched", "validation_mismatched"),
    ),
    "qnli": GlueTask(("question", "sentence"), ENTAILMENT),
    "rte": GlueTask(PAIR, ENTAILMENT),
    "wnli": GlueTask(PAIR, ("not_entailment", "entailment")),
}
