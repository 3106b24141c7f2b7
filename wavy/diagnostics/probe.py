"""What a classifier could still read from a state, and what the optimiser sees of it: lost, or only hard to find?"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Tensor, nn

from wavy.diagnostics.profile import run_hooked, state_of


@torch.no_grad()
def layer_states(model: nn.Module, *inputs: object, blocks: Sequence[nn.Module] | None = None) -> list[Tensor]:
    """The states X^0 ... X^L of one forward pass in eval mode, each as the block gave it.

    Args:
        model: any module; its mode is as before afterwards.
        *inputs: what to call it with.
        blocks: as in :func:`wavy.diagnostics.layer_profile`.

    Raises:
        ValueError: as in :func:`wavy.diagnostics.layer_profile`.
    """
    states: list[Tensor] = []

    def keep(module: nn.Module, _inputs: object, output: object) -> None:
        states.append(state_of(output, type(module).__name__))

    run_hooked(model, blocks, keep, *inputs)
    return states


def linear_probe(
    state: Tensor,
    labels: Tensor,
    fit_on: Tensor,
    score_on: Tensor,
) -> float:
    """Accuracy of logistic regression on a state: what is in it, however small.

    Each channel is first brought to mean 0 and deviation 1 over the fitted nodes. What
    all nodes share then hides nothing, as it would from gradient descent.

    Args:
        state: (N, d).
        labels: classes, (N,).
        fit_on: nodes to fit, (N,) bool.
        score_on: nodes to score, (N,) bool.

    Returns:
        Share of the scored nodes whose class is named right.
    """
    features, classes = state.double().cpu().numpy(), labels.cpu().numpy()
    fit, score = fit_on.cpu().numpy(), score_on.cpu().numpy()
    probe = make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000))
    probe.fit(features[fit], classes[fit])
    return float(probe.score(features[score], classes[score]))


def readout_gradient(
    state: Tensor,
    logits: Tensor,
    labels: Tensor,
) -> tuple[float, float]:
    """The gradient of a linear readout's weights, split by what it comes from.

    With cross entropy it is ``G = 1/n sum_i (p_i - y_i) x_i^T``. Writing x_i as the
    mean state plus a deviation splits G into a part that is common to all nodes and a
    part that tells them apart.

    Args:
        state: of the n training nodes, (n, d).
        logits: theirs, (n, C).
        labels: their classes, (n,).

    Returns:
        Frobenius norms of the common part and of the telling part.
    """
    state, classes = state.double(), logits.shape[-1]
    error = logits.double().softmax(dim=-1) - F.one_hot(labels, classes)
    error, mean = error / len(labels), state.mean(dim=0)
    common = torch.outer(error.sum(dim=0), mean)
    return common.norm().item(), (error.T @ (state - mean)).norm().item()
