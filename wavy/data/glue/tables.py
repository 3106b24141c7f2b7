"""The tables of GLUE as text files: where each column stands, and how to read them without losing a line."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """The form of one file."""

    path: str  # relative to a data folder
    label: int  # number of the column
    texts: tuple[int, ...]
    header: bool = True


#: Task -> split -> its file. The labelled test sets of MRPC and STS-B are not GLUE's own files, which have no labels.
TABLES = {
    "cola": {
        "train": Table("glue/CoLA/train.tsv", 1, (3,), header=False),
        "validation": Table("glue/CoLA/dev.tsv", 1, (3,), header=False),
    },
    "sst2": {
        "train": Table("glue/SST-2/train.tsv", 1, (0,)),
        "validation": Table("glue/SST-2/dev.tsv", 1, (0,)),
    },
    "mrpc": {
        "train": Table("glue/MRPC/train.tsv", 0, (3, 4)),
        "validation": Table("glue/MRPC/dev.tsv", 0, (3, 4)),
        "test": Table("glue/MRPC/msr_paraphrase_test.txt", 0, (3, 4)),
    },
    "stsb": {
        "train": Table("glue/STS-B/train.tsv", 9, (7, 8)),
        "validation": Table("glue/STS-B/dev.tsv", 9, (7, 8)),
        "test": Table("glue/STS-B/sts-test_with_scores.tsv", 4, (5, 6), header=False),
    },
    "rte": {
        "train": Table("glue/RTE/train.tsv", 3, (1, 2)),
        "validation": Table("glue/RTE/dev.tsv", 3, (1, 2)),
    },
    "wnli": {
        "train": Table("glue/WNLI/train.tsv", 3, (1, 2)),
        "validation": Table("glue/WNLI/dev.tsv", 3, (1, 2)),
    },
}


def read_table(content: bytes, table: Table) -> tuple[list[list[str]], list[str]]:
    """Read the texts and labels of a file.

    Quotation marks are text here, not syntax: read as syntax, one without a partner would swallow the lines after
    it. The byte order mark of MRPC is no part of its first column.

    Returns:
        One list of texts a column of ``table.texts``, and the labels as they are written.
    """
    with io.StringIO(content.decode("utf-8-sig"), newline="") as lines:
        rows = list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    rows = rows[1:] if table.header else rows
    return [[row[column] for row in rows] for column in table.texts], [row[table.label] for row in rows]
