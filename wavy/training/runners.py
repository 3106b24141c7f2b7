"""Experiment name -> the function that does one of its runs, for :func:`wavy.sweep.sweep`."""

from wavy.training.bert_metrics import bert_metrics
from wavy.training.deit_metrics import deit_metrics
from wavy.training.difformer import difformer_metrics
from wavy.training.glue import glue_metrics_of
from wavy.training.gpt2 import gpt2_metrics
from wavy.training.remedies import remedy_metrics
from wavy.training.signal import signal_metrics
from wavy.training.transformer import transformer_metrics

RUNNERS = {
    "bert": bert_metrics,
    "deit": deit_metrics,
    "difformer": difformer_metrics,
    "glue": glue_metrics_of,
    "gpt2": gpt2_metrics,
    "remedies": remedy_metrics,
    "signal": signal_metrics,
    "transformer": transformer_metrics,
}
