"""Rows of results read back as the runs that they tell of."""

from __future__ import annotations

from pydantic import BaseModel, ValidationError

from wavy.checks import check_choice
from wavy.experiments.bert_run import BertRun
from wavy.experiments.deit_run import DeitRun
from wavy.experiments.difformer_run import DifformerRun
from wavy.experiments.glue import GlueRun
from wavy.experiments.gpt2 import Gpt2Run
from wavy.experiments.remedies import RemedyRun
from wavy.experiments.signal import SignalRun
from wavy.experiments.transformer import TransformerRun
from wavy.results import run_hash
from wavy.rowfile import Row

#: Experiment -> the class of its runs.
RUNS: dict[str, type[BaseModel]] = {
    run.experiment: run
    for run in (BertRun, DeitRun, DifformerRun, GlueRun, Gpt2Run, RemedyRun, SignalRun, TransformerRun)
}


def run_of(row: Row) -> BaseModel:
    """The run that a row tells of.

    Parameters that the row lacks, since they were added later, have their defaults.

    Raises:
        ValueError: an unknown experiment, parameters that its runs do not have or allow, or another params_hash than
            theirs.
    """
    check_choice("experiment", row["experiment"], tuple(RUNS))
    kind, params = RUNS[row["experiment"]], row["params"]
    derived = kind.model_computed_fields
    try:
        run = kind.model_validate({name: value for name, value in params.items() if name not in derived})
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ValueError(f"params: found {place} {first['input']!r}, allowed a run's ({first['msg']})") from None
    for name in derived:
        if params.get(name) != getattr(run, name):
            raise ValueError(f"params: found {name} {params.get(name)!r}, allowed {getattr(run, name)!r}")
    if row["params_hash"] != run_hash(run):
        raise ValueError(f"params_hash: found {row['params_hash']}, allowed {run_hash(run)}, that of its params")
    return run
