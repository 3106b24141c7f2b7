"""From a graph as loaded to a graph ready for training: split, feature scaling, self loops."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch_geometric import transforms as T
from torch_geometric.data import Data

from wavy.checks import check_choice

#: ``random``: 20 nodes a class to train on, 500 to validate, 1000 to test, drawn anew for each seed.
#: ``public``: the split that came with the data set; where ten came, the one that the seed names, modulo ten.
SPLITS = ("random", "public")
TRAIN_PER_CLASS, VALIDATION, TEST = 20, 500, 1000


def prepare_graph(data: Data, split: str, seed: int, normalize_features: bool = True) -> Data:
    """A copy of a graph with masks, self loops and (optionally) features divided by their row sums.

    Args:
        data: with x (N, F), dense or sparse COO, edge_index (2, E), y (N,), as :func:`wavy.data.load_graph` returns it.
        split: one of :data:`SPLITS`.
        seed: of the split; the same seed gives the same split for every model.
        normalize_features: divide each node's features by their sum.

    Returns:
        Data with the same fields plus train_mask, val_mask and test_mask, each (N,) bool.

    Raises:
        ValueError: an unknown split, a data set without a public split or too small for a random one, or features
            that are not finite.
    """
    check_choice("split", split, SPLITS)
    if not bool(torch.isfinite(data.x if data.x.layout == torch.strided else data.x.values()).all()):
        raise ValueError("data.x: found NaN or infinite features, allowed finite numbers")
    steps = [T.AddSelfLoops()]
    if normalize_features:
        steps.append(T.NormalizeFeatures() if data.x.layout == torch.strided else _divide_by_row_sums)
    steps.append(_random_split(data) if split == "random" else _public_split(data, seed))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return T.Compose(steps)(data.clone())


def _random_split(data: Data) -> Callable[[Data], Data]:
    if data.y.dim() > 1:
        raise ValueError("split: found 'random', which draws by class, but nodes have several labels; allowed public")
    smallest, needed = int(data.y.bincount().min()), TRAIN_PER_CLASS * (int(data.y.max()) + 1) + VALIDATION + TEST
    if smallest < TRAIN_PER_CLASS or data.num_nodes < needed:
        raise ValueError(
            f"split: found 'random', which takes {TRAIN_PER_CLASS} nodes of each class and {needed} in all, but this "
            f"data set has {data.num_nodes} nodes and {smallest} in its smallest class; allowed public"
        )
    return T.RandomNodeSplit("random", num_train_per_class=TRAIN_PER_CLASS, num_val=VALIDATION, num_test=TEST)


def _public_split(data: Data, seed: int) -> Callable[[Data], Data]:
    if "train_mask" not in data:
        raise ValueError("split: found 'public', but this data set has no public split; allowed random")

    def choose(data: Data) -> Data:
        for part in ("train_mask", "val_mask", "test_mask"):
            if data[part].dim() == 2:
                data[part] = data[part][:, seed % data[part].shape[1]]
        return data

    return choose


def _divide_by_row_sums(data: Data) -> Data:
    """As ``T.NormalizeFeatures`` does for dense features that are not negative; a sum below 1 counts as 1."""
    x = data.x.coalesce()
    row, values = x.indices()[0], x.values()
    sums = values.new_zeros(x.shape[0]).index_add(0, row, values).clamp(min=1)
    data.x = torch.sparse_coo_tensor(x.indices(), values / sums[row], x.shape, is_coalesced=True, check_invariants=True)
    return data
