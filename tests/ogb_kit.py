"""Small data sets in the on-disk format of the Open Graph Benchmark: gzipped tables without headers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

NODES, CLASSES, TASKS = 60, 3, 112


def write_arxiv(root: Path) -> dict[str, np.ndarray]:
    """Papers of three fields whose features tell the field; directed citations, one twice, one of itself."""
    generator = np.random.default_rng(0)
    field = np.arange(NODES) % CLASSES
    cited = (np.arange(NODES) + CLASSES * generator.integers(1, 5, NODES)) % NODES
    edges = np.concatenate([np.stack([np.arange(NODES), cited], axis=1), [[0, cited[0]], [7, 7]]])
    features = np.eye(CLASSES)[field] + 0.3 * generator.normal(size=(NODES, CLASSES))
    tables = {"node-feat": features, "node_year": 2000 + np.arange(NODES) // 3, "node-label": field}
    _write(root / "ogbn_arxiv", "time", edges, tables)
    return tables | {"edge": edges}


def write_proteins(root: Path) -> dict[str, np.ndarray]:
    """Proteins on a ring; the mean weight of a protein's edges tells its labels. Undirected edges, each once."""
    generator = np.random.default_rng(1)
    left = np.arange(NODES)
    edges = np.stack([left, (left + 1) % NODES], axis=1)
    weights = generator.random((NODES, 8)).round(3)
    strength = weights[:, 0] + weights[left - 1, 0]
    labels = (strength[:, None] > generator.normal(1, 0.1, size=(1, TASKS))).astype(int)
    labels[:, 1] = 1  # a task of which the evaluation knows one class only
    tables = {"edge-feat": weights, "node_species": left // 20, "node-label": labels}
    _write(root / "ogbn_proteins", "species", edges, tables)
    return tables | {"edge": edges}


def _write(folder: Path, split: str, edges: np.ndarray, tables: dict[str, np.ndarray]) -> None:
    counts = {"num-node-list": [NODES], "num-edge-list": [len(edges)]}
    files = {f"raw/{name}": table for name, table in (tables | counts | {"edge": edges}).items()}
    parts = {"train": np.arange(30), "valid": np.arange(30, 45), "test": np.arange(45, NODES)}
    files |= {f"split/{split}/{name}": nodes for name, nodes in parts.items()}
    for name, table in files.items():
        path = folder / f"{name}.csv.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        pd.DataFrame(table).to_csv(path, header=False, index=False)
    (folder / "RELEASE_v1.txt").touch()
