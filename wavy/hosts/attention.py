"""DIFFormer's two global attentions: every node attends to every node.

Shapes: queries, keys and values are (N, H, d): N nodes, H heads, d channels a head; the result is (N, H, d).
Both attention matrices are row stochastic.
"""

from __future__ import annotations

import torch
from torch import Tensor


def simple_attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """The ``simple`` kernel in O(N d^2): :eq:`eq-simple-attention`.

    ``a_ij = (1 + q_i . k_j) / (N + q_i . sum_l k_l)``

    This (N, N) matrix is never formed. Queries and keys are first divided by their
    Frobenius norms over all nodes and heads, so no a_ij is negative.

    Args:
        query: (N, H, d), not all zero.
        key: (N, H, d), not all zero.
        value: (N, H, d).

    Returns:
        A V for each head, (N, H, d).

    Source: DIFFormer (Wu et al., ICLR 2023).
    """
    # The norms scale the small (d, d) products instead of the (N, d) queries and keys.
    scale = 1 / (torch.linalg.vector_norm(query) * torch.linalg.vector_norm(key))
    key_value = scale * torch.einsum("nhm,nhd->hmd", key, value)
    key_sum = scale * key.sum(dim=0)
    numerator = torch.einsum("nhm,hmd->nhd", query, key_value) + value.sum(dim=0)
    denominator = torch.einsum("nhm,hm->nh", query, key_sum) + query.shape[0]
    return numerator * denominator.reciprocal().unsqueeze(-1)


def sigmoid_attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """The ``sigmoid`` kernel in O(N^2).

    ``a_ij = sigmoid(q_i . k_j) / sum_l sigmoid(q_i . k_l)``

    Args:
        query: (N, H, d).
        key: (N, H, d).
        value: (N, H, d).

    Returns:
        A V for each head, (N, H, d).

    Source: DIFFormer (Wu et al., ICLR 2023).
    """
    weight = torch.sigmoid(torch.einsum("nhm,lhm->hnl", query, key))
    weight = weight / weight.sum(dim=-1, keepdim=True)
    return torch.einsum("hnl,lhd->nhd", weight, value)


#: Kernel name -> attention function.
KERNELS = {"simple": simple_attention, "sigmoid": sigmoid_attention}
