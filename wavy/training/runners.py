"""Experiment name -> the function that does one of its runs, for :func:`wavy.sweep.sweep`."""

from wavy.training.deit_metrics import deit_metrics
from wavy.training.difformer import difformer_metrics
from wavy.training.remedies import remedy_metrics
from wavy.training.signal import signal_metrics
from wavy.training.transformer import transformer_metrics

RUNNERS = {
    "deit": deit_metrics,
    "difformer": difformer_metrics,
    "remedies": remedy_metrics,
    "signal": signal_metrics,
    "transformer": transformer_metrics,
}
