"""Amazon and Coauthor graphs of gnn-benchmark (Shchur et al., 2018); they have no public split."""

import io

import numpy as np
import scipy.sparse
import torch
from torch_geometric.data import Data
from torch_geometric.datasets import Amazon

from wavy.data.graphs.edges import simple_undirected
from wavy.data.lookup import read_files
from wavy.data.sources import Download

FILES = {
    "photo": "amazon_electronics_photo.npz",
    "computers": "amazon_electronics_computers.npz",
    "coauthor_cs": "ms_academic_cs.npz",
    "coauthor_physics": "ms_academic_phy.npz",
}
#: Below this share of non-zero features they stay sparse: Coauthor Physics would take 1.2 GB, and has 0.4 %.
SPARSE_BELOW = 0.1


def load_gnn_benchmark(name: str) -> Data:
    """Load one of the four graphs. See ``wavy.data.load_graph``.

    Two files serve: the published one, and one with the same arrays but without pickled lists of names.

    Args:
        name: A key of ``FILES``.

    Returns:
        The graph without masks; x counts words and is a sparse COO tensor for the Coauthor graphs.

    Raises:
        DataUnavailable: The raw file could not be had.
    """
    rewritten, published = f"graphs/shchur/{FILES[name]}", f"gnn-benchmark/{FILES[name]}"
    download = Download({published: Amazon.url + FILES[name]})
    contents, source = read_files([rewritten], [download], instead=[published])
    (content,) = contents.values()
    data = graph_from_npz(content)
    data.name, data.source = name, source
    return data


def graph_from_npz(content: bytes) -> Data:
    """Assemble a graph from the arrays of an npz file; whatever is pickled in it is left alone.

    Args:
        content: The file, with two CSR matrices ``adj_*`` and ``attr_*`` and ``labels``.

    Returns:
        x (N, F), edge_index (2, E), y (N,).
    """
    with np.load(io.BytesIO(content), allow_pickle=False) as raw:
        adjacency, features = _csr(raw, "adj").tocoo(), _csr(raw, "attr")
        y = torch.from_numpy(raw["labels"]).long()
    edges = torch.from_numpy(np.stack([adjacency.row, adjacency.col])).long()
    return Data(x=_features(features), edge_index=simple_undirected(edges, len(y)), y=y)


def _csr(raw: np.lib.npyio.NpzFile, name: str) -> scipy.sparse.csr_matrix:
    parts = (raw[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
    return scipy.sparse.csr_matrix(tuple(parts), shape=raw[f"{name}_shape"])


def _features(matrix: scipy.sparse.csr_matrix) -> torch.Tensor:
    if matrix.nnz >= SPARSE_BELOW * np.prod(matrix.shape):
        return torch.from_numpy(matrix.toarray()).float()
    matrix = matrix.tocoo()
    indices = torch.from_numpy(np.stack([matrix.row, matrix.col])).long()
    values = torch.from_numpy(matrix.data).float()
    return torch.sparse_coo_tensor(indices, values, matrix.shape, check_invariants=True).coalesce()
