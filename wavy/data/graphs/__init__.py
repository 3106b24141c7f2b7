"""Graphs for node classification, by name."""

import difflib
import logging
from functools import partial

from torch_geometric.data import Data

from wavy.data.graphs import gnn_benchmark, heterophilous, ogbn, planetoid
from wavy.data.graphs.digits import load_digit_graph

__all__ = ["NAMES", "load_graph"]

LOADERS = {
    **{name: partial(planetoid.load_planetoid, name) for name in planetoid.FOLDERS},
    "digits": load_digit_graph,
    **{name: partial(heterophilous.load_heterophilous, name) for name in heterophilous.NAMES},
    **{name: partial(gnn_benchmark.load_gnn_benchmark, name) for name in gnn_benchmark.FILES},
    **{name: partial(ogbn.load_ogbn, name) for name in ogbn.FOLDERS},
}
NAMES = tuple(LOADERS)

log = logging.getLogger("wavy.data")


def load_graph(name: str) -> Data:
    """Load a graph for node classification.

    * "cora", "citeseer", "pubmed": citations; one public split.
    * "digits": a neighbour graph of images, always available; no split.
    * "actor", "chameleon", "squirrel", "texas", "cornell", "wisconsin": pages that link to each other; ten splits.
      "chameleon_filtered", "squirrel_filtered": without the duplicates among their pages.
    * "tolokers", "minesweeper": two classes of unequal size; ten splits.
    * "photo", "computers": products that are bought together; no split.
    * "coauthor_cs", "coauthor_physics": authors who wrote together; no split.
    * "ogbn-arxiv": citations, split by time; "ogbn-proteins": interactions, 112 labels a node, split by species. They
      need the package ``ogb``, and their files are not checked: no checksums are published.

    Args:
        name: One of the names above.

    Returns:
        x (N, F) float32 raw features, a sparse COO tensor for the Coauthor graphs; edge_index (2, E) int64 with both
        directions of each edge, sorted by row, without self loops and duplicates; y (N,) int64 classes, or (N, T)
        labels 0 and 1 for T tasks; name; source, where the raw files came from. Where a split comes with the graph:
        train_mask, val_mask and test_mask bool, (N,), or (N, 10) for ten splits.

    Raises:
        ValueError: The name is unknown, or $WAVY_DATA or $WAVY_CACHE is not an absolute path.
        DataUnavailable: The raw files could not be had; the message says what was tried and what to do.
    """
    if name not in NAMES:
        nearest = difflib.get_close_matches(str(name).lower(), NAMES, n=1, cutoff=0.0)[0]
        raise ValueError(f"name must be one of {', '.join(NAMES)}, found {name!r}; did you mean {nearest!r}?")
    data = LOADERS[name]()
    log.info("graph %s: raw files from %s", name, data.source)
    return data
