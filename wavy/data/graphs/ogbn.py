"""ogbn-arxiv and ogbn-proteins of the Open Graph Benchmark (Hu et al., NeurIPS 2020).

The tables are read by ``ogb``'s own reader, not by its data set classes: those keep what they read as a pickle that
``torch.load`` refuses the next time, write into the folder that they read, and ask questions on the terminal. OGB
publishes no checksums, so these files alone are used unchecked.
"""

import contextlib
import importlib.resources
import io
import logging
import os
import shutil
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch_geometric.data import Data
from torch_geometric.utils import index_to_mask, scatter

from wavy.data.cache import cache_folder, folder_from_env, one_at_a_time
from wavy.data.extras import require
from wavy.data.graphs.edges import simple_undirected
from wavy.data.sources import DataUnavailable, Download

#: Name -> the folder that the package ``ogb`` keeps the graph in, here below ``ogb/`` in $WAVY_DATA or the cache.
FOLDERS = {"ogbn-arxiv": "ogb/ogbn_arxiv", "ogbn-proteins": "ogb/ogbn_proteins"}

log = logging.getLogger("wavy.data")


def load_ogbn(name: str) -> Data:
    """Load a graph of the Open Graph Benchmark. See ``wavy.data.load_graph``.

    Args:
        name: A key of ``FOLDERS``.

    Returns:
        The graph with the benchmark's split, by time or by species. ogbn-proteins has features of edges only: a
        node's x is their mean over its edges (8), as in the code of DIFFormer; y (N, 112) are its binary labels.

    Raises:
        DataUnavailable: The package ``ogb`` is not installed, or the graph could not be had.
    """
    reader, facts = _reader(name)
    reasons = []
    for label, folder in _places(name, facts, reasons):
        try:
            data = _graph(folder, facts, reader)
        # ogb's reader raises a bare RuntimeError where a table is missing; the others are those of damaged tables.
        except (OSError, EOFError, RuntimeError, ValueError, zlib.error) as error:
            reasons.append(f"{label}: {folder}: {' '.join(str(error).split())}")
            log.warning(reasons[-1])
        else:
            data.name, data.source = name, label
            return data
    raise DataUnavailable(
        f"{name} could not be had: {'; '.join(reasons)}. Connect to the network and try again, or set WAVY_DATA to the "
        f"absolute path of a folder that holds {FOLDERS[name]} as the package ogb unpacks it."
    )


def _places(name: str, facts: Mapping[str, str], reasons: list[str]) -> Iterator[tuple[str, Path]]:
    """Yield (label, folder) in the look-up order, and note why a place has none."""
    data_root, cached = folder_from_env("WAVY_DATA"), cache_folder() / FOLDERS[name]
    in_cache = cached.is_dir()
    if data_root and (data_root / FOLDERS[name]).is_dir():
        yield "$WAVY_DATA", data_root / FOLDERS[name]
    else:
        reasons.append("$WAVY_DATA: not there" if data_root else "$WAVY_DATA: not set")
    if in_cache:
        yield "cache", cached
    else:
        reasons.append("cache: not there")
    try:
        with one_at_a_time(cache_folder() / ".lock"):
            if in_cache or not cached.is_dir():  # else another process has filled it while this one waited
                _fetch(facts, cached)
    except (DataUnavailable, zipfile.BadZipFile, OSError) as error:
        reasons.append(f"download: {error}")
    else:
        yield "download", cached


def _fetch(facts: Mapping[str, str], folder: Path) -> None:
    """Unpack the published archive so that other processes see the folder whole or not at all."""
    ((_, content),) = Download({"archive": facts["url"]}).fetch(["archive"])
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".partial-") as part:
        zipfile.ZipFile(io.BytesIO(content)).extractall(part)
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(Path(part, facts["download_name"]), folder)


def _graph(folder: Path, facts: Mapping[str, str], reader: Callable[..., list[dict]]) -> Data:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):  # it reports progress
        (graph,) = reader(str(folder / "raw"))  # each edge once, as in the tables
    edges, num_nodes = torch.from_numpy(graph["edge_index"]), graph["num_nodes"]
    _check_nodes("edge", edges, num_nodes)
    y = _table(folder / "raw" / "node-label.csv.gz")
    _check_rows("node-label", y, num_nodes)
    data = Data(edge_index=simple_undirected(edges, num_nodes), y=y.squeeze(1) if y.shape[1] == 1 else y)
    if facts["has_node_attr"] == "True":
        data.x = _features("node-feat", graph["node_feat"], num_nodes)
    else:
        features = _features("edge-feat", graph["edge_feat"], edges.shape[1]).repeat(2, 1)  # for both ends of an edge
        data.x = scatter(features, edges.flatten(), dim_size=num_nodes, reduce="mean")
    taken = torch.zeros(num_nodes, dtype=torch.bool)
    for part, file in (("train", "train"), ("val", "valid"), ("test", "test")):
        nodes = _table(folder / "split" / facts["split"] / f"{file}.csv.gz").squeeze(1)
        _check_nodes(file, nodes, num_nodes)
        mask = data[f"{part}_mask"] = index_to_mask(nodes, num_nodes)
        if (mask & taken).any():
            raise ValueError(f"{file}: found a node of another part of the split")
        taken |= mask
    return data


def _table(path: Path) -> torch.Tensor:
    found = pd.read_csv(path, header=None).to_numpy()
    if found.dtype.kind != "i":
        raise ValueError(f"{path.name}: found {found.dtype}, allowed whole numbers")
    return torch.tensor(found)


def _features(table: str, found: np.ndarray | None, rows: int) -> torch.Tensor:
    if found is None:  # what ogb's reader gives where a table of features is missing
        raise ValueError(f"{table}: found no table")
    features = torch.tensor(found, dtype=torch.float32)
    _check_rows(table, features, rows)
    return features


def _check_rows(table: str, found: torch.Tensor, rows: int) -> None:
    if len(found) != rows:
        raise ValueError(f"{table}: found {len(found)} rows, allowed {rows}")


def _check_nodes(table: str, nodes: torch.Tensor, num_nodes: int) -> None:
    if nodes.numel() and not 0 <= nodes.min() <= nodes.max() < num_nodes:
        raise ValueError(f"{table}: found nodes {nodes.min()} to {nodes.max()}, allowed 0 to {num_nodes - 1}")


def _reader(name: str) -> tuple[Callable[..., list[dict]], Mapping[str, str]]:
    """The reader of tables of the package ``ogb``, and what that knows about a graph."""
    with without_module("outdated"):  # with it, importing ogb would ask the network for ogb's newest version
        reader = require("ogb.io.read_graph_raw", "ogb").read_csv_graph_raw
    with importlib.resources.files("ogb").joinpath("nodeproppred/master.csv").open() as file:
        return reader, pd.read_csv(file, index_col=0, keep_default_na=False)[name]


@contextlib.contextmanager
def without_module(module: str) -> Iterator[None]:
    """Let the import of a module fail for a while."""
    before = {name: sys.modules[name] for name in [module] if name in sys.modules}
    sys.modules[module] = None
    try:
        yield
    finally:
        del sys.modules[module]
        sys.modules.update(before)
