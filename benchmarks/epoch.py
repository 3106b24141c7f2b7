"""An epoch of DIFFormer on Cora, evaluation included: ours beside the published computation, and what both learn."""

from __future__ import annotations

import copy
from pathlib import Path

import torch
from torch_geometric.data import Data

from benchmarks.allocator import freed_memory
from benchmarks.published import PublishedDIFFormer, published_epoch
from benchmarks.rows import write
from benchmarks.speed import interleaved
from wavy.experiments.difformer import DifformerRun
from wavy.training.difformer import build_difformer, run_graph
from wavy.training.node import fit_node_classifier

#: The published settings for Cora.
RUN = DifformerRun()


def run(path: Path | None, setting: DifformerRun = RUN, epochs: int = 50, repeats: int = 11) -> list[dict[str, object]]:
    """Rows of the published seconds an epoch and of our ratio to them, with the ratio of the multiplications."""
    data = graph_of(setting)
    steps = {
        "published": lambda: fit_published(setting, data, epochs),
        "wavy": lambda: fit_own(setting, data, epochs),
    }
    seconds = interleaved(steps, repeats)
    about = {"model": "DIFFormer-s", "step": "epoch", "settings": _settings(setting), "freed_memory": freed_memory()}
    base = [value / epochs for value in seconds["published"]]
    ratios = [own / other for own, other in zip(seconds["wavy"], seconds["published"], strict=True)]
    return [
        write(path, "epoch", base, "s", way="published", **about),
        write(path, "epoch", ratios, "ratio", way="wavy", floor=floor(setting, data), **about),
    ]


def accuracy(
    path: Path | None, setting: DifformerRun = RUN, seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
) -> list[dict[str, object]]:
    """Rows of the test accuracy of both, one value a seed, each chosen by validation."""
    found: dict[str, list[float]] = {"published": [], "wavy": []}
    for seed in seeds:
        seeded = setting.model_copy(update={"seed": seed})
        data = graph_of(seeded)
        for way, fit in (("published", fit_published), ("wavy", fit_own)):
            found[way].append(fit(seeded, data, setting.epochs)["test_accuracy"])
    about = {"model": "DIFFormer-s", "step": "test accuracy", "settings": _settings(setting), "seeds": seeds}
    return [write(path, "accuracy", shares, "share", way=way, **about) for way, shares in found.items()]


def fit_own(setting: DifformerRun, data: Data, epochs: int) -> dict[str, float]:
    """Metrics of our training, the preparation of features and graph included."""
    torch.manual_seed(setting.seed)
    model = build_difformer(setting, data)
    return fit_node_classifier(model, data, epochs=epochs, lr=setting.lr, weight_decay=setting.weight_decay).metrics


def fit_published(setting: DifformerRun, data: Data, epochs: int) -> dict[str, float]:
    """Metrics of the published training: of the first epoch with the highest validation accuracy."""
    torch.manual_seed(setting.seed)
    model = PublishedDIFFormer(build_difformer(setting, data))
    optimizer = torch.optim.Adam(model.parameters(), lr=setting.lr, weight_decay=setting.weight_decay)
    best = {"val_accuracy": -1.0}
    for _ in range(epochs):
        found = published_epoch(model, data, optimizer)
        if found["val_accuracy"] > best["val_accuracy"]:
            best, _ = found, copy.deepcopy(model.state_dict())  # kept, as in our training
    return best


def floor(setting: DifformerRun, data: Data) -> float:
    """Our multiplications in an epoch over the published ones: products with all nodes or edges alone.

    In each layer 4 products of N d^2 become 2, their 8 in the backward pass become 3, and evaluation repeats the
    forward ones. The input layer multiplies what is not zero in place of all N F features. The graph's product stays.
    """
    nodes, features = data.x.shape
    width, depth, edges = setting.hidden_channels, setting.depth, data.edge_index.shape[1]
    graph = 3 * depth * edges * width
    own = (2 + 3 + 2) * depth * nodes * width**2 + 3 * int((data.x != 0).sum()) * width + graph
    return own / ((4 + 8 + 4) * depth * nodes * width**2 + 3 * nodes * features * width + graph)


def graph_of(setting: DifformerRun) -> Data:
    """The prepared graph, with dense features in the run's precision."""
    data = run_graph(setting)
    data.x = data.x.to(getattr(torch, setting.dtype))
    return data


def _settings(setting: DifformerRun) -> str:
    return f"{setting.dataset}, {setting.depth} layers, width {setting.hidden_channels}, dropout {setting.dropout:g}"
