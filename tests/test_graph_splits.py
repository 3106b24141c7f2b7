"""Splits and feature scaling of the graphs that come with ten splits, with none, or with sparse features."""

from __future__ import annotations

from typing import get_args

import pytest
import torch
from torch_geometric.data import Data

from wavy.data import NAMES
from wavy.experiments.difformer import DifformerStudy
from wavy.experiments.difformer_run import ROC_AUC, SPLIT, WEIGHT_DECAY, Dataset
from wavy.hosts.difformer import DIFFormer
from wavy.training.graph import prepare_graph
from wavy.training.node import model_inputs

PARTS = ("train_mask", "val_mask", "test_mask")


def graph(nodes, classes=2, **fields):
    """A ring of nodes of alternating classes whose features are few, with sums above and below 1."""
    generator = torch.Generator().manual_seed(0)
    ring = torch.arange(nodes)
    edges = torch.stack([ring, ring.roll(1)])
    x = torch.randint(0, 4, (nodes, 12), generator=generator) * (torch.rand(nodes, 12, generator=generator) < 0.2)
    return Data(x=x / 4, edge_index=torch.cat([edges, edges.flip(0)], 1), y=ring % classes, **fields)


def ten_splits(nodes):
    """Masks (N, 10): node i trains in split i mod 10, is tested in the next, and validates in the others."""
    column = (torch.arange(nodes)[:, None] - torch.arange(10)) % 10
    return dict(zip(PARTS, (column == 0, column > 1, column == 1), strict=True))


@pytest.mark.parametrize("seed", [0, 3, 9, 10, 27])
def test_of_ten_splits_the_seed_names_one(seed):
    masks = ten_splits(40)
    data = prepare_graph(graph(40, **masks), "public", seed)
    for part in PARTS:
        assert torch.equal(data[part], masks[part][:, seed % 10])


def test_a_random_split_takes_the_place_of_ten_given_ones():
    data = prepare_graph(graph(1540, **ten_splits(1540)), "random", 0)
    assert [int(data[part].sum()) for part in PARTS] == [40, 500, 1000]
    assert all(data[part].shape == (1540,) for part in PARTS)


@pytest.mark.parametrize(
    ("nodes", "classes", "found"), [(1539, 2, "1539 nodes and 769"), (1900, 100, "1900 nodes and 19 in")]
)
def test_a_random_split_of_too_few_nodes_is_refused(nodes, classes, found):
    with pytest.raises(ValueError, match=rf"^split: found 'random', which takes 20 .* {found} .*; allowed public$"):
        prepare_graph(graph(nodes, classes), "random", 0)


def test_sparse_features_are_scaled_and_used_as_dense_ones():
    dense = graph(40, **ten_splits(40))
    sparse = dense.clone()
    sparse.x = dense.x.to_sparse()
    model = DIFFormer(12, 8, 2)
    for normalize in (True, False):
        expected, found = (prepare_graph(data, "public", 0, normalize) for data in (dense, sparse))
        assert found.x.layout == torch.sparse_coo
        assert torch.equal(found.x.to_dense(), expected.x)
        features, _ = model_inputs(model, found)
        assert features.layout == torch.sparse_csr
        torch.testing.assert_close(model(*model_inputs(model, found)), model(*model_inputs(model, expected)))
    sparse.x = dense.x.masked_fill(dense.x == 0.75, float("inf")).to_sparse()
    with pytest.raises(ValueError, match=r"^data.x: found NaN or infinite"):
        prepare_graph(sparse, "public", 0)


def test_the_study_knows_every_graph_and_its_split():
    assert set(get_args(Dataset)) == set(SPLIT) == set(WEIGHT_DECAY) == set(NAMES)
    for name, split in SPLIT.items():
        (found,) = {(run.split, run.metric) for run in DifformerStudy(dataset=name).runs()}
        assert found == (split, "roc_auc" if name in ROC_AUC else "accuracy")
    assert SPLIT["cora"] == SPLIT["photo"] == "random"
    assert SPLIT["texas"] == SPLIT["tolokers"] == "public"
