"""Graphs whose neighbours often differ in class, each with ten splits (Platonov et al., ICLR 2023)."""

import io

import numpy as np
import torch
from torch_geometric.data import Data

from wavy.data.graphs.edges import simple_undirected
from wavy.data.lookup import read_files
from wavy.data.sources import Download

#: ``_filtered``: without the duplicated nodes of the original, which leak labels from training to test.
NAMES = (
    "actor", "chameleon", "chameleon_filtered", "squirrel", "squirrel_filtered", "texas", "cornell", "wisconsin",
    "tolokers", "minesweeper",
)  # fmt: skip
COMMIT = "a431395582e929d88271309716bea4fe24ce6318"
URL = f"https://raw.githubusercontent.com/yandex-research/heterophilous-graphs/{COMMIT}/data"


def load_heterophilous(name: str) -> Data:
    """Load one of the heterophilous graphs. See ``wavy.data.load_graph``.

    Args:
        name: One of ``NAMES``.

    Returns:
        The graph with ``train_mask``, ``val_mask`` and ``test_mask``, each (N, 10): one column a split.

    Raises:
        DataUnavailable: The raw file could not be had.
    """
    path = f"graphs/heterophilous/{name}.npz"
    contents, source = read_files([path], [Download({path: f"{URL}/{name}.npz"})])
    with np.load(io.BytesIO(contents[path]), allow_pickle=False) as raw:
        arrays = {key: torch.from_numpy(raw[key]) for key in raw.files}
    num_nodes = len(arrays["node_labels"])
    masks = {f"{part}_mask": arrays[f"{part}_masks"].t().contiguous() for part in ("train", "val", "test")}
    return Data(
        x=arrays["node_features"],
        edge_index=simple_undirected(arrays["edges"].t(), num_nodes),
        y=arrays["node_labels"],
        name=name,
        source=source,
        **masks,
    )
