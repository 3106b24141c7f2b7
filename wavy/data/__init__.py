"""Data sets by name. Raw files are looked up, checked and read here; nothing is normalised."""

import difflib
import logging

from torch_geometric.data import Data

from wavy.data.digits import load_digit_graph
from wavy.data.planetoid import FOLDERS, load_planetoid
from wavy.data.sources import DataUnavailable

__all__ = ["NAMES", "DataUnavailable", "load_graph"]

NAMES = (*FOLDERS, "digits")

log = logging.getLogger("wavy.data")


def load_graph(name: str) -> Data:
    """Load a graph for node classification.

    Args:
        name: "cora", "citeseer", "pubmed" (citation graphs with the public split) or "digits" (a neighbour graph of
            images, always available, without a split).

    Returns:
        x (N, F) float32 raw features; edge_index (2, E) int64 with both directions of each edge, sorted by row,
        without self loops and duplicates; y (N,) int64; name; source, where the raw files came from. The citation
        graphs also carry train_mask, val_mask and test_mask (N,) bool.

    Raises:
        ValueError: The name is unknown, or $WAVY_DATA or $WAVY_CACHE is not an absolute path.
        DataUnavailable: The raw files could not be had; the message says what was tried and what to do.
    """
    if name not in NAMES:
        nearest = difflib.get_close_matches(str(name).lower(), NAMES, n=1, cutoff=0.0)[0]
        raise ValueError(f"name must be one of {', '.join(NAMES)}, found {name!r}; did you mean {nearest!r}?")
    data = load_digit_graph() if name == "digits" else load_planetoid(name)
    log.info("graph %s: raw files from %s", name, data.source)
    return data
