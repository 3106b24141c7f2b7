"""A graph of images that needs no download: the handwritten digits of scikit-learn, joined to their neighbours."""

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

NEIGHBOURS = 10


def load_digit_graph() -> Data:
    """Build the graph of the 1797 digit images of 8 x 8 pixels. See ``wavy.data.load_graph``.

    Two images are joined where one is among the ``NEIGHBOURS`` = 10 nearest of the other in Euclidean distance
    between their pixels. There is no public split, so there are no masks.

    Returns:
        x (1797, 64) in [0, 1], edge_index (2, E), y (1797,).
    """
    digits = load_digits()
    edges = nearest_neighbours(digits.data, NEIGHBOURS)
    return Data(
        x=torch.from_numpy(digits.data / 16.0).float(),  # pixels are integers from 0 to 16
        edge_index=to_undirected(torch.from_numpy(edges), num_nodes=len(digits.data)),
        y=torch.from_numpy(digits.target).long(),
        name="digits",
        source="scikit-learn",
    )


def nearest_neighbours(points: np.ndarray, k: int) -> np.ndarray:
    """Return the directed edges (2, N * k) from each point to its k nearest others, ties to the lower index.

    Written out because the library search breaks ties in an order that depends on the number of threads. For
    integer points all distances are exact, so the result is the same on every machine.

    Args:
        points: (N, F) float64, integers.
        k: Number of neighbours, below N.
    """
    norms = (points**2).sum(axis=1)
    squared = norms[:, None] + norms[None, :] - 2.0 * points @ points.T
    np.fill_diagonal(squared, np.inf)
    nearest = np.argsort(squared, axis=1, kind="stable")[:, :k]
    return np.stack([np.repeat(np.arange(len(points)), k), nearest.ravel()])
