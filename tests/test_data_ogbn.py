"""Graphs in the format of the Open Graph Benchmark: read by ogb's own reader, offline and without a sound."""

import io
import sys
import threading
import types
import zipfile
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
import torch
from torch_geometric.utils import contains_self_loops, is_undirected

import ogb_kit
from wavy.data import DataUnavailable, load_graph
from wavy.data.graphs import ogbn

# Importing ogb would ask the network for its newest version, which is one of the things tested.
pytestmark = pytest.mark.skipif(find_spec("ogb") is None, reason="the package ogb is not installed")
WRITERS = {"ogbn-arxiv": ogb_kit.write_arxiv, "ogbn-proteins": ogb_kit.write_proteins}
PARTS = ("train_mask", "val_mask", "test_mask")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty $WAVY_DATA/ogb, an own cache, and no network."""
    monkeypatch.setenv("WAVY_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("WAVY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(ogbn, "Download", Unreachable)
    (tmp_path / "data" / "ogb").mkdir(parents=True)
    return tmp_path / "data" / "ogb"


class Unreachable:
    def __init__(self, urls):
        self.urls = urls

    def fetch(self, _):
        raise DataUnavailable("no route to host")


def test_arxiv_is_symmetrised_and_keeps_features_classes_and_split(folder):
    tables = ogb_kit.write_arxiv(folder)
    data = load_graph("ogbn-arxiv")
    assert (data.name, data.source) == ("ogbn-arxiv", "$WAVY_DATA")
    assert data.x.dtype == torch.float32
    np.testing.assert_allclose(data.x, tables["node-feat"], atol=1e-6)
    assert data.y.tolist() == tables["node-label"].tolist()
    expected = {(a, b) for a, b in tables["edge"].tolist() if a != b}
    expected |= {(b, a) for a, b in expected}
    assert data.edge_index.t().tolist() == [list(edge) for edge in sorted(expected)]
    assert [data[part].nonzero().flatten().tolist() for part in PARTS] == [
        list(range(30)),
        list(range(30, 45)),
        list(range(45, 60)),
    ]


def test_proteins_have_the_mean_of_their_edges_as_features_and_112_labels(folder):
    tables = ogb_kit.write_proteins(folder)
    data = load_graph("ogbn-proteins")
    assert (data.name, data.source) == ("ogbn-proteins", "$WAVY_DATA")
    for node in range(ogb_kit.NODES):
        mine = (tables["edge"] == node).any(axis=1)
        assert mine.sum() == 2
        np.testing.assert_allclose(data.x[node], tables["edge-feat"][mine].mean(axis=0), atol=1e-6)
    assert data.y.dtype == torch.int64
    assert np.array_equal(data.y, tables["node-label"])
    assert data.y.shape == (ogb_kit.NODES, 112)
    assert data.num_edges == 2 * ogb_kit.NODES
    assert is_undirected(data.edge_index)
    assert not contains_self_loops(data.edge_index)


@pytest.mark.parametrize("name", WRITERS)
def test_reading_prints_nothing_writes_nothing_and_can_be_repeated(folder, name, capfd):
    WRITERS[name](folder)
    before = sorted(folder.rglob("*"))
    first, second = load_graph(name), load_graph(name)
    assert all(torch.equal(first[key], second[key]) for key in ("x", "y", "edge_index", *PARTS))
    assert capfd.readouterr() == ("", "")
    assert sorted(folder.rglob("*")) == before


def test_importing_ogb_asks_nobody_for_its_newest_version(folder, monkeypatch):
    asked = []
    outdated = types.ModuleType("outdated")
    outdated.check_outdated = lambda *question: asked.append(question) or (False, "")
    monkeypatch.setitem(sys.modules, "outdated", outdated)
    for module in [module for module in sys.modules if module.split(".")[0] == "ogb"]:
        monkeypatch.delitem(sys.modules, module)
    ogb_kit.write_arxiv(folder)
    load_graph("ogbn-arxiv")
    assert "ogb" in sys.modules
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join(timeout=10)
    assert asked == []
    assert sys.modules["outdated"] is outdated


class Served:
    """A download of the archive of ``folder``, whose one folder has the published name."""

    def __init__(self, folder, name):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for file in folder.rglob("*"):
                archive.write(file, f"{name}/{file.relative_to(folder)}")
        self.content, self.asked = buffer.getvalue(), []

    def __call__(self, urls):
        self.asked.append(urls)
        return self

    def fetch(self, paths):
        yield paths[0], self.content


@pytest.mark.parametrize("damaged", [False, True])
def test_what_is_fetched_once_comes_from_the_cache_next(folder, tmp_path, monkeypatch, damaged):
    ogb_kit.write_arxiv(tmp_path / "published")
    served = Served(tmp_path / "published" / "ogbn_arxiv", "arxiv")
    monkeypatch.setattr(ogbn, "Download", served)
    if damaged:
        (tmp_path / "cache" / "ogb" / "ogbn_arxiv" / "raw").mkdir(parents=True)
    assert [load_graph("ogbn-arxiv").source for _ in range(2)] == ["download", "cache"]
    assert served.asked == [{"archive": "http://snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip"}]
    assert not list(folder.iterdir())
    assert [path.name for path in (tmp_path / "cache" / "ogb").iterdir()] == ["ogbn_arxiv"]


@pytest.mark.parametrize("name", WRITERS)
def test_without_any_source_one_line_says_what_was_tried(folder, name):
    with pytest.raises(DataUnavailable) as caught:
        load_graph(name)
    message = str(caught.value)
    assert "\n" not in message
    parts = (
        f"{name} could not be had",
        "$WAVY_DATA: not there",
        "cache: not there",
        "download: no route",
        "set WAVY_DATA",
    )
    assert all(part in message for part in parts)


def test_an_archive_of_something_else_is_a_reason(folder, tmp_path, monkeypatch):
    for content, reason in ((b"<html>", "not a zip file"), (Served(tmp_path, "other").content, "arxiv")):
        served = Served(tmp_path, "other")
        served.content = content
        monkeypatch.setattr(ogbn, "Download", served)
        with pytest.raises(DataUnavailable, match=f"download: .*{reason}"):
            load_graph("ogbn-arxiv")


@pytest.mark.parametrize("missing", ["raw/edge", "raw/node-label", "raw/node-feat", "split/time/test"])
def test_a_folder_without_a_table_is_a_reason(folder, missing):
    ogb_kit.write_arxiv(folder)
    (folder / "ogbn_arxiv" / f"{missing}.csv.gz").unlink()
    with pytest.raises(DataUnavailable, match=r"\$WAVY_DATA: \S+ogbn_arxiv: \S") as caught:
        load_graph("ogbn-arxiv")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("damage", [lambda content: content[:-20], lambda content: b"no gzip", lambda content: b""])
def test_a_damaged_table_is_a_reason(folder, damage):
    ogb_kit.write_arxiv(folder)
    table = folder / "ogbn_arxiv" / "raw" / "node-feat.csv.gz"
    table.write_bytes(damage(table.read_bytes()))
    with pytest.raises(DataUnavailable, match=r"\$WAVY_DATA: \S+ogbn_arxiv: \S"):
        load_graph("ogbn-arxiv")


@pytest.mark.parametrize(
    ("table", "rows", "reason"),
    [
        ("raw/node-label", [0, 1], "node-label: found 2 rows, allowed 60"),
        ("raw/node-label", [*range(59), 1.5], "node-label.csv.gz: found float64, allowed whole numbers"),
        ("raw/node-label", [*range(59), np.nan], "node-label.csv.gz: found float64"),
        ("raw/node-feat", [[0.5, 1.0]], "node-feat: found 1 rows, allowed 60"),
        ("raw/edge", [[0, 999]] * 62, "edge: found nodes 0 to 999, allowed 0 to 59"),
        ("raw/num-node-list", [20], "edge: found nodes 0 to 59, allowed 0 to 19"),
        ("split/time/test", [59, 60], "test: found nodes 59 to 60, allowed 0 to 59"),
        ("split/time/test", [-1, 59], "test: found nodes -1 to 59, allowed 0 to 59"),
        ("split/time/test", [0, 59], "test: found a node of another part"),
    ],
)
def test_tables_that_do_not_fit_together_are_a_reason(folder, table, rows, reason):
    ogb_kit.write_arxiv(folder)
    path = folder / "ogbn_arxiv" / f"{table}.csv.gz"
    pd.DataFrame(rows).to_csv(path, header=False, index=False)
    with pytest.raises(DataUnavailable, match=rf"\$WAVY_DATA: \S+ogbn_arxiv: .*({reason})"):
        load_graph("ogbn-arxiv")


def test_edges_without_their_features_are_a_reason(folder):
    ogb_kit.write_proteins(folder)
    (folder / "ogbn_proteins" / "raw" / "edge-feat.csv.gz").unlink()
    with pytest.raises(DataUnavailable, match="edge-feat: found no table"):
        load_graph("ogbn-proteins")


def test_without_the_package_the_error_says_what_to_install(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "ogb", None)
    monkeypatch.delitem(sys.modules, "ogb.io.read_graph_raw", raising=False)
    monkeypatch.delitem(sys.modules, "ogb.io", raising=False)
    with pytest.raises(DataUnavailable, match=r'^the package ogb is missing; .* "wavy\[ogb\]"$'):
        load_graph("ogbn-arxiv")
