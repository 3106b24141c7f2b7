"""A sweep of two runs, the second from the first: ``torchrun launched_sweep.py FILE [LAYER]`` writes its rows.

With the name of a class FSDP shards each layer of it on its own.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from sharding_kit import sharded
from wavy.experiments.bert_plans import bert_run
from wavy.experiments.bert_run import BertRun
from wavy.sweep import sweep
from wavy.training.bert_metrics import bert_metrics

SMALL = {"depth": 1, "dim": 16, "heads": 2, "mlp_dim": 16, "batch_size": 16, "evaluated": 20}


def runs() -> list[BertRun]:
    """A short training, and one that goes on from its weights."""
    first = bert_run("light", "quick", steps=4, **SMALL)
    return [first, bert_run("light", "quick", steps=2, seed=1, start=first, **SMALL)]


if __name__ == "__main__":
    file, layer = Path(sys.argv[1]), sys.argv[2:]
    do = partial(sweep, runs(), bert_metrics, scale="quick", path=file)
    sharded(do, *layer) if layer else do()
