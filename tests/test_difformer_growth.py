"""What a full-batch step of DIFFormer allocates grows with the nodes and edges, and with nothing larger."""

from __future__ import annotations

import math

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from wavy.hosts.difformer import DIFFormer

EDGES = 10  # a node
WIDTH = 64


class Allocations(TorchDispatchMode):
    """Numbers in all results of operations together, and in the largest one."""

    def __init__(self):
        super().__init__()
        self.total = self.largest = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        if not function.is_view:
            for tensor in tree_leaves(result):
                if isinstance(tensor, torch.Tensor) and tensor.layout == torch.strided:
                    self.total += tensor.numel()
                    self.largest = max(self.largest, tensor.numel())
        return result


def step(nodes, residual, **options):
    """Allocations of a forward and a backward pass on a random graph that is ready for it."""
    torch.manual_seed(0)
    model = DIFFormer(8, WIDTH, 3, num_layers=2, residual=residual, dropout=0.2, **options)
    x, edges = torch.randn(nodes, 8), torch.randint(nodes, (2, EDGES * nodes))
    graph = model.propagation(edges, nodes)
    model(x, graph)
    with Allocations() as found:
        model(x, graph).square().mean().backward()
    return found


@pytest.mark.parametrize("residual", ["diffusion", "mix_full"])
def test_a_step_allocates_in_proportion_to_the_graph(residual):
    small, large = step(5_000, residual), step(50_000, residual)
    slope = math.log10(large.total / small.total)
    assert 0.9 < slope < 1.02


@pytest.mark.parametrize("options", [{}, {"use_weight": True}, {"use_source": True, "operator": "row_stochastic"}])
def test_no_edge_gets_a_copy_of_a_node(options):
    """Neither forward nor backward, where the edges have no weights to be learnt."""
    nodes = 5_000
    assert step(nodes, "light", **options).largest < EDGES * nodes * WIDTH
