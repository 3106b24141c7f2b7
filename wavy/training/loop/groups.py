"""Which parameters weight decay draws towards zero."""

from __future__ import annotations

from torch import nn


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict]:
    """The trained parameters in two groups for an optimizer: with weight decay, and without.

    Without it are vectors and single numbers: biases, the gains of norms, LayerScale, theta and the gains of FeatScale
    and AttnScale; and what timm's models name in ``no_weight_decay`` (position embeddings, CLS and distillation token).
    This is how DeiT's and BERT's own recipes have it. On theta, decay would not mean less of the wave: it draws
    lambda = sigmoid(theta) to 1/2.

    Args:
        model: not wrapped yet.
        weight_decay: AdamW's.
    """
    named = getattr(model, "no_weight_decay", set)()
    decayed, spared = [], []
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            (spared if parameter.ndim <= 1 or name in named else decayed).append(parameter)
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": spared, "weight_decay": 0.0}]
    return [group for group in groups if group["params"]]
