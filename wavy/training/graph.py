"""From a graph as loaded to a graph ready for training: split, feature scaling, self loops."""

from __future__ import annotations

import torch
from torch_geometric import transforms as T
from torch_geometric.data import Data

from wavy.checks import check_choice

#: ``random``: 20 nodes a class to train on, 500 to validate, 1000 to test, drawn anew for each seed.
#: ``public``: the split that came with the data set.
SPLITS = ("random", "public")


def prepare_graph(data: Data, split: str, seed: int, normalize_features: bool = True) -> Data:
    """A copy of a graph with masks, self loops and (optionally) features divided by their row sums.

    Args:
        data: with x (N, F), edge_index (2, E), y (N,), as :func:`wavy.data.load_graph` returns it.
        split: one of :data:`SPLITS`.
        seed: of the random split; the same seed gives the same split for every model.
        normalize_features: divide each node's features by their sum.

    Returns:
        Data with the same fields plus train_mask, val_mask and test_mask, each (N,) bool.

    Raises:
        ValueError: an unknown split, a data set without a public split, or features that are not finite.
    """
    check_choice("split", split, SPLITS)
    if split == "public" and "train_mask" not in data:
        raise ValueError("split: found 'public', but this data set has no public split; allowed random")
    if not bool(torch.isfinite(data.x).all()):
        raise ValueError("data.x: found NaN or infinite features, allowed finite numbers")
    steps = [T.AddSelfLoops()]
    if normalize_features:
        steps.append(T.NormalizeFeatures())
    if split == "random":
        steps.append(T.RandomNodeSplit("random", num_train_per_class=20, num_val=500, num_test=1000))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return T.Compose(steps)(data.clone())
