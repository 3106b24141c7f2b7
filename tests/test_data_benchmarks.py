"""Heterophilous graphs, Amazon and Coauthor: as counted by their authors, checked, and found in the same order."""

import http.server
import io
import os
import shutil
import threading
from functools import partial
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.datasets import Amazon
from torch_geometric.io.npz import read_npz
from torch_geometric.utils import contains_self_loops, is_undirected

from wavy.data import DataUnavailable, load_graph, lookup
from wavy.data.graphs import gnn_benchmark, heterophilous
from wavy.data.graphs.gnn_benchmark import graph_from_npz
from wavy.data.sizes import SIZES

RAW = Path(os.environ.get("WAVY_DATA", ""), "graphs")
needs_raw = pytest.mark.skipif(not (RAW / "heterophilous").is_dir(), reason="WAVY_DATA names no folder with graphs/")
# Nodes, features, classes, undirected edges without self loops and duplicates.
COUNTS = {
    "actor": (7600, 932, 5, 26659),
    "chameleon": (2277, 2325, 5, 31371),
    "chameleon_filtered": (890, 2325, 5, 8854),
    "squirrel": (5201, 2089, 5, 198353),
    "squirrel_filtered": (2223, 2089, 5, 46998),
    "texas": (183, 1703, 5, 279),
    "cornell": (183, 1703, 5, 277),
    "wisconsin": (251, 1703, 5, 450),
    "tolokers": (11758, 10, 2, 519000),
    "minesweeper": (10000, 7, 2, 39402),
    "photo": (7650, 745, 8, 119081),
    "computers": (13752, 767, 10, 245861),
    "coauthor_cs": (18333, 6805, 15, 81894),
    "coauthor_physics": (34493, 8415, 5, 247962),
}
PARTS = ("train_mask", "val_mask", "test_mask")


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("WAVY_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A web server of the folder ``published``, and its address."""
    monkeypatch.setenv("NO_PROXY", "*")
    (tmp_path / "published").mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = partial(Quiet, directory=tmp_path / "published")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield tmp_path / "published", f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_every_data_set_is_counted():
    assert set(COUNTS) == {*heterophilous.NAMES, *gnn_benchmark.FILES}


@needs_raw
@pytest.mark.parametrize("name", COUNTS)
def test_counts_and_form(name):
    data = load_graph(name)
    nodes, features, classes, edges = COUNTS[name]
    assert SIZES[name] == (nodes, 2 * edges)
    assert data.x.shape == (nodes, features)
    assert (data.num_nodes, data.num_features) == (nodes, features)
    assert data.y.unique().tolist() == list(range(classes))
    assert (data.x.dtype, data.y.dtype, data.edge_index.dtype) == (torch.float32, torch.int64, torch.int64)
    assert data.edge_index.shape == (2, 2 * edges)
    assert is_undirected(data.edge_index)
    assert not contains_self_loops(data.edge_index)
    key = data.edge_index[0] * nodes + data.edge_index[1]
    assert (key.diff() > 0).all()  # sorted by row, none twice
    assert (data.name, data.source) == (name, "$WAVY_DATA")


@needs_raw
@pytest.mark.parametrize("name", heterophilous.NAMES)
def test_ten_splits_each_of_which_puts_every_node_in_one_part(name):
    data = load_graph(name)
    masks = torch.stack([data[part] for part in PARTS])
    assert masks.dtype == torch.bool
    assert masks.shape == (3, data.num_nodes, 10)
    assert (masks.sum(dim=0) == 1).all()
    assert len(data.train_mask.t().unique(dim=0)) == 10


@needs_raw
@pytest.mark.parametrize(("name", "sizes"), [("texas", [87, 59, 37]), ("minesweeper", [5000, 2500, 2500])])
def test_the_parts_of_a_split_have_the_published_sizes(name, sizes):
    data = load_graph(name)
    assert [data[part][:, 0].sum().item() for part in PARTS] == sizes


@needs_raw
@pytest.mark.parametrize("name", ["photo", "computers", "coauthor_cs"])  # PyG makes 1.2 GB of Coauthor Physics
def test_the_other_graphs_have_no_split_and_are_those_of_pyg(name):
    data = load_graph(name)
    assert not any(part in data for part in PARTS)
    reference = read_npz(RAW / "shchur" / gnn_benchmark.FILES[name])  # its words are 0 or 1, ours are counted
    assert torch.equal(data.edge_index, reference.edge_index)
    assert torch.equal(data.y, reference.y)
    assert torch.equal((data.x.to_dense() > 0).float(), reference.x)


@needs_raw
def test_the_large_matrices_stay_sparse():
    x = load_graph("coauthor_physics").x
    assert x.layout == torch.sparse_coo
    assert x.values().min() > 0
    assert (x.values().numel(), x.values().max()) == (1137311, 98)


@needs_raw
@pytest.mark.parametrize("name", ["texas", "photo"])
def test_a_damaged_file_is_never_used_and_the_error_says_so(name, tmp_path, monkeypatch):
    path = "shchur/amazon_electronics_photo.npz" if name == "photo" else f"heterophilous/{name}.npz"
    (tmp_path / "graphs" / path).parent.mkdir(parents=True)
    content = (RAW / path).read_bytes()
    (tmp_path / "graphs" / path).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    monkeypatch.setenv("WAVY_DATA", str(tmp_path))
    monkeypatch.setattr(heterophilous, "URL", "http://127.0.0.1:9")
    monkeypatch.setattr(Amazon, "url", "http://127.0.0.1:9/")
    with pytest.raises(DataUnavailable) as caught:
        load_graph(name)
    assert "\n" not in str(caught.value)
    for part in (f"$WAVY_DATA: graphs/{path} has a wrong sha256", "download: ", "set WAVY_DATA"):
        assert part in str(caught.value)


@pytest.mark.parametrize("name", COUNTS)
def test_without_any_source_one_line_says_what_was_tried(name, monkeypatch):
    monkeypatch.delenv("WAVY_DATA", raising=False)
    monkeypatch.setattr(heterophilous, "URL", "http://127.0.0.1:9")
    monkeypatch.setattr(Amazon, "url", "http://127.0.0.1:9/")
    with pytest.raises(DataUnavailable) as caught:
        load_graph(name)
    message = str(caught.value)
    assert "\n" not in message
    for part in (gnn_benchmark.FILES.get(name, f"{name}.npz"), "$WAVY_DATA: not set", "cache: ", "download: "):
        assert part in message


@needs_raw
def test_a_download_is_put_into_the_cache_and_comes_from_there_next(server, monkeypatch):
    folder, address = server
    shutil.copy(RAW / "heterophilous" / "texas.npz", folder)
    reference = load_graph("texas")
    monkeypatch.delenv("WAVY_DATA")
    monkeypatch.setattr(heterophilous, "URL", address)
    for source in ("download", "cache"):
        data = load_graph("texas")
        assert data.source == source
        assert all(torch.equal(data[key], reference[key]) for key in ("x", "y", "edge_index", *PARTS))


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was read",))


def published_npz():
    """Four nodes in the published layout: CSR matrices, and names that are pickled."""
    names = np.empty(1, dtype=object)
    names[0] = Bomb()
    buffer = io.BytesIO()
    np.savez(
        buffer,
        adj_data=np.ones(4, np.float32), adj_indices=np.array([1, 2, 2, 3], np.int32),
        adj_indptr=np.array([0, 1, 3, 3, 4], np.int32), adj_shape=np.array([4, 4]),
        attr_data=np.array([1, 2, 5], np.float32), attr_indices=np.array([0, 2, 1], np.int32),
        attr_indptr=np.array([0, 2, 2, 3, 3], np.int32), attr_shape=np.array([4, 3]),
        labels=np.array([0, 1, 1, 0]), node_names=names,
    )  # fmt: skip
    return buffer.getvalue()


def test_a_published_file_serves_where_the_rewritten_one_is_absent_and_is_not_unpickled(server, monkeypatch):
    folder, address = server
    content = published_npz()
    (folder / "amazon_electronics_photo.npz").write_bytes(content)
    table = dict(lookup.checksums()) | {"gnn-benchmark/amazon_electronics_photo.npz": sha256(content).hexdigest()}
    monkeypatch.setattr(lookup, "checksums", lambda: table)
    monkeypatch.delenv("WAVY_DATA", raising=False)
    monkeypatch.setattr(Amazon, "url", address + "/")
    data = load_graph("photo")
    assert data.source == "download"
    # The rows name 0 -> 1, 1 -> 2 twice and the loop 3 -> 3.
    assert data.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert data.x.tolist() == [[1, 0, 2], [0, 0, 0], [0, 5, 0], [0, 0, 0]]
    assert data.y.tolist() == [0, 1, 1, 0]


def test_few_non_zero_features_stay_sparse_with_the_same_values():
    with np.load(io.BytesIO(published_npz())) as raw:
        arrays = {key: raw[key] for key in raw.files if key != "node_names"}
    arrays |= {"attr_shape": np.array([4, 100])}
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    x = graph_from_npz(buffer.getvalue()).x
    assert x.layout == torch.sparse_coo
    assert x.to_dense()[:, :3].tolist() == [[1, 0, 2], [0, 0, 0], [0, 5, 0], [0, 0, 0]]
    assert x.to_dense().count_nonzero() == 3
