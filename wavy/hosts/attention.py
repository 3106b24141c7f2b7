"""DIFFormer's two global attentions: every node attends to every node.

Shapes: queries, keys and values are (N, H, d): N nodes, H heads, d channels a head; the result is (N, H, d).
Both attention matrices are row stochastic.
"""

from __future__ import annotations

import torch
from torch import Tensor


def simple_attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """The ``simple`` kernel in O(N d^2): the (N, N) matrix is never formed.

    ``a_ij = (1 + q_i . k_j) / (N + q_i . sum_l k_l)``

    Queries and keys are first divided by their Frobenius norms over all nodes and heads, so every a_ij is positive.
    """
    # The norms scale the small (d, d) products instead of the (N, d) queries and keys.
    scale = 1 / (torch.linalg.vector_norm(query) * torch.linalg.vector_norm(key))
    key_value = scale * torch.einsum("nhm,nhd->hmd", key, value)
    key_sum = scale * key.sum(dim=0)
    numerator = torch.einsum("nhm,hmd->nhd", query, key_value) + value.sum(dim=0)
    denominator = torch.einsum("nhm,hm->nh", query, key_sum) + query.shape[0]
    return numerator * denominator.reciprocal().unsqueeze(-1)


def sigmoid_attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """The ``sigmoid`` kernel, a_ij = sigmoid(q_i . k_j) with rows divided by their sums, in O(N^2)."""
    weight = torch.sigmoid(torch.einsum("nhm,lhm->hnl", query, key))
    weight = weight / weight.sum(dim=-1, keepdim=True)
    return torch.einsum("hnl,lhd->nhd", weight, value)


#: Kernel name -> attention function.
KERNELS = {"simple": simple_attention, "sigmoid": sigmoid_attention}
