"""One prediction of the signal study: a spectrum and an untrained model, no training."""

from __future__ import annotations

import functools

import torch
from torch import Tensor
from torch_geometric import seed_everything
from torch_geometric.data import Data
from torch_geometric.utils import degree

from wavy.data import load_graph
from wavy.diagnostics.probe import layer_states
from wavy.diagnostics.signal import (
    Product,
    SignalSpectrum,
    dominant_mode,
    one_hot_signal,
    signal_ratio,
    signal_spectrum,
    start_ratio,
)
from wavy.experiments.difformer_run import DifformerRun
from wavy.experiments.signal import THRESHOLDS, SignalRun
from wavy.hosts.propagation import Propagation
from wavy.training.difformer import build_difformer
from wavy.training.graph import prepare_graph
from wavy.training.node import model_inputs


def operator_spectrum(data: Data, operator: str, graph_weight: float | None = None) -> tuple[SignalSpectrum, Tensor]:
    """What the classes of a graph see of DIFFormer's operator with uniform attention, and its dominant mode (N,).

    Attention is nearly uniform, J/N. ``published``: J/N + D^-1/2 A_G D^-1/2, or their weighted mean.
    ``row_stochastic``: (J/N + D^-1 A_G) / 2, which leaves constants as they are. Up to constants J/N is zero, so the
    other eigenvalues are those of D^-1 A_G, by half; and D^-1 A_G is similar to the symmetric D^-1/2 A_G D^-1/2, in
    whose basis each node is weighted by its degree.

    Args:
        data: from :func:`wavy.training.graph.prepare_graph`.
        operator: ``published`` or ``row_stochastic``.
        graph_weight: share of the graph part; ``None`` for the operator's default.
    """
    nodes = data.num_nodes
    propagation = Propagation(data.edge_index, nodes, None, "sym", torch.float64)
    signal = one_hot_signal(data.y)
    if operator == "row_stochastic":
        root = degree(data.edge_index[1], nodes, torch.float64).clamp(min=1).sqrt()
        vector, share = root / root.norm(), 0.5 if graph_weight is None else graph_weight
        spectrum = signal_spectrum(lambda x: share * propagation(x), signal * root.unsqueeze(1), (1.0, vector))
        return spectrum, torch.full_like(vector, nodes**-0.5)
    product = _published(propagation, graph_weight)
    mode = dominant_mode(product, nodes)
    return signal_spectrum(product, signal, mode), mode[1]


def _published(propagation: Propagation, graph_weight: float | None) -> Product:
    attention, graph = (1.0, 1.0) if graph_weight is None else (1 - graph_weight, graph_weight)
    return lambda x: attention * x.mean(dim=0, keepdim=True) + graph * propagation(x)


@functools.lru_cache(maxsize=2)
def _graph_of(dataset: str, split: str, seed: int, normalize_features: bool) -> Data:
    return prepare_graph(load_graph(dataset), split, seed, normalize_features)


@functools.lru_cache(maxsize=4)
def _spectrum_of(dataset: str, split: str, operator: str, graph_weight: float | None) -> tuple[SignalSpectrum, Tensor]:
    # Of the prepared graph only its edges and classes matter here, neither seed nor features.
    return operator_spectrum(_graph_of(dataset, split, 0, True), operator, graph_weight)


@functools.lru_cache(maxsize=4)
def _first_state_of(dataset: str, split: str, seed: int, normalize_features: bool) -> Tensor:
    """An untrained model's X^0, (N, d), which depends neither on its residual nor on its depth."""
    data = _graph_of(dataset, split, seed, normalize_features)
    seed_everything(seed)
    model = build_difformer(DifformerRun(dataset=dataset, split=split, depth=1), data)
    return layer_states(model, *model_inputs(model, data))[0]


def signal_metrics(run: SignalRun, device: str = "cpu") -> dict[str, float | None]:
    """The metrics of one prediction, for :func:`wavy.sweep.sweep`; it is computed on the CPU in any case.

    ``dominant`` eigenvalue, ``guess`` (the share of the largest class among the training nodes), ``start`` ratio,
    signal ``ratio`` (and ``bare_ratio``, without LayerNorm), ``remainder`` = start times ratio (and
    ``bare_remainder``), and for each of the four scores ``trains_by_...``: 1 where it reaches its threshold.
    """
    graph = run.dataset, run.split, run.seed, run.normalize_features
    spectrum, mode = _spectrum_of(run.dataset, run.split, run.operator, run.graph_weight)
    start = start_ratio(_first_state_of(*graph), mode)
    data = _graph_of(*graph)
    classes = data.y[data.train_mask].bincount()
    guess = (classes.max() / classes.sum()).item()
    scores = {
        name: signal_ratio(spectrum, run.depth, run.tau, run.residual, run.lam, layer_norm)
        for name, layer_norm in (("ratio", True), ("bare_ratio", False))
    }
    scores |= {"remainder": start * scores["ratio"], "bare_remainder": start * scores["bare_ratio"]}
    trains = {f"trains_by_{name}": float(score >= THRESHOLDS[name]) for name, score in scores.items()}
    return {"dominant": spectrum.dominant, "guess": guess, "start": start} | scores | trains
