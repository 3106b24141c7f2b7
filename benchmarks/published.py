"""DIFFormer as its published code computes it: what an epoch is measured against.

Features are dense. Each layer forms queries and keys, takes four products with all nodes, sums with vectors of ones,
and prepares the graph anew. An epoch is a training step and one more forward pass that is judged on all three parts.
The sparse product is torch's own, which here took less time than others on a matrix that is made anew for each layer.

Source: DIFFormer (Wu et al., ICLR 2023) and its published code, from which nothing is copied.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.utils import degree

from wavy.hosts.difformer import DIFFormer


class PublishedDIFFormer(nn.Module):
    """The published computation with the parameters of a :class:`wavy.hosts.difformer.DIFFormer`, kind diffusion.

    Shapes:
        - **input:** x (N, F) dense; edge_index (2, E) with self loops.
        - **output:** logits (N, C).
    """

    def __init__(self, model: DIFFormer) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Class logits, (N, C)."""
        model, p = self.model, self.model.dropouts[0].p
        x = F.dropout(F.relu(F.layer_norm(model.fcs[0](x), *_norm(model.bns[0]))), p, self.training)
        source = x
        for conv, residual, norm in zip(model.convs, model.residuals, model.bns[1:], strict=True):
            shape = (len(x), conv.heads, -1)
            value = x.view(len(x), 1, -1) if conv.Wv is None else conv.Wv(x).view(shape)
            attended = _attention(conv.Wq(x).view(shape), conv.Wk(x).view(shape), value)
            propagated = _propagation(value, edge_index)
            if model.graph_weight is None:
                joined = attended + propagated
            else:
                joined = (1 - model.graph_weight) * attended + model.graph_weight * propagated
            joined = joined.mean(dim=1)
            if model.use_source:
                joined = joined + source
            x = residual.tau * joined + (1 - residual.tau) * x
            x = F.dropout(F.layer_norm(x, *_norm(norm)), p, self.training)
        return model.fcs[1](x)


def _norm(norm: nn.LayerNorm) -> tuple:
    return norm.normalized_shape, norm.weight, norm.bias, norm.eps


def _attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    query, key = query / query.norm(), key / key.norm()
    ones = torch.ones(len(query), dtype=query.dtype, device=query.device)
    above = torch.einsum("nhm,hmd->nhd", query, torch.einsum("nhm,nhd->hmd", key, value.expand_as(key)))
    above = above + torch.einsum("n,nhd->hd", ones, value)
    below = torch.einsum("nhm,hm->nh", query, torch.einsum("nhm,n->hm", key, ones)).unsqueeze(-1)
    return above / (below + torch.full_like(below, len(query)))


def _propagation(value: Tensor, edge_index: Tensor) -> Tensor:
    nodes, (source, target) = len(value), edge_index
    counts = degree(target, nodes, value.dtype)
    weight = (1 / counts[source]).sqrt() * (1 / counts[target]).sqrt()
    weight = torch.nan_to_num(weight, nan=0.0, posinf=0.0, neginf=0.0)
    matrix = torch.sparse_coo_tensor(torch.stack([target, source]), weight, (nodes, nodes), check_invariants=False)
    return torch.stack([torch.sparse.mm(matrix, head) for head in value.unbind(dim=1)], dim=1)


def published_epoch(model: nn.Module, data: Data, optimizer: torch.optim.Optimizer) -> dict[str, float]:
    """One epoch: a training step, then the loss of validation and the accuracy of each part.

    Args:
        model: a :class:`PublishedDIFFormer`.
        data: with dense features and masks.
        optimizer: of its parameters.

    Returns:
        train_accuracy, val_accuracy, test_accuracy and val_loss.
    """
    model.train()
    optimizer.zero_grad()
    _loss(model(data.x, data.edge_index), data, data.train_mask).backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        logits = model(data.x, data.edge_index)
        predicted = logits.argmax(dim=-1)
        parts = {part: data[f"{part}_mask"] for part in ("train", "val", "test")}
        found = {
            f"{part}_accuracy": (predicted[mask] == data.y[mask]).double().mean().item() for part, mask in parts.items()
        }
        return found | {"val_loss": _loss(logits, data, parts["val"]).item()}


def _loss(logits: Tensor, data: Data, mask: Tensor) -> Tensor:
    return F.nll_loss(F.log_softmax(logits, dim=1)[mask], data.y[mask])
