"""Planetoid's Cora rebuilt from Cora as first published: cora.content and cora.cites (Sen et al., 2008).

Both hold the same papers, words and citations; only the order of the papers differs. ``cora_order.txt`` lists the
paper of each of Planetoid's nodes, so that the graph comes out equal number for number.
"""

import functools
import importlib.resources

import numpy as np
import torch
from torch_geometric.data import Data

from wavy.data.graphs.citation import citation_graph

CONTENT, CITES = "linqs/cora/cora.content", "linqs/cora/cora.cites"
# In the order of Planetoid's class numbers.
CLASSES = (
    "Theory", "Reinforcement_Learning", "Genetic_Algorithms", "Neural_Networks", "Probabilistic_Methods", "Case_Based",
    "Rule_Learning",
)  # fmt: skip
TRAIN_NODES, FIRST_TEST_NODE = 140, 1708


def cora_from_linqs(content: bytes, cites: bytes) -> Data:
    """Rebuild Planetoid's Cora.

    Args:
        content: A line a paper: id, a 0 or 1 for each word, class name.
        cites: A line a citation: the cited paper's id, the citing paper's id.

    Returns:
        The graph that ``planetoid.graph_from_raw`` gives for the Planetoid files.
    """
    papers = {row[0]: row[1:] for row in (line.split() for line in content.decode().splitlines())}
    order = paper_order()
    node = {paper: index for index, paper in enumerate(order)}
    x = torch.from_numpy(np.array([papers[paper][:-1] for paper in order], dtype=np.float32))
    y = torch.tensor([CLASSES.index(papers[paper][-1]) for paper in order])
    pairs = [(node[cited], node[citing]) for cited, citing in (line.split() for line in cites.decode().splitlines())]
    return citation_graph(x, y, pairs, TRAIN_NODES, torch.arange(FIRST_TEST_NODE, len(order)))


@functools.cache
def paper_order() -> tuple[str, ...]:
    """Return the paper id of each of Planetoid's Cora nodes."""
    text = importlib.resources.files("wavy.data.graphs").joinpath("cora_order.txt").read_text(encoding="utf-8")
    return tuple(line for line in text.splitlines() if not line.startswith("#"))
