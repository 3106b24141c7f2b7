"""Measures of one state X, (..., N, d): how alike are its N tokens?

All tokens that are passed count: leave out padding or a class token before the call, where they should not. Each
measure costs O(N d), the effective rank O(N d min(N, d)); differences are taken from the mean, since the form
without centring loses all digits once tokens are nearly equal (in float32 at a relative spread of about 1e-4).
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from wavy.diagnostics.tokens import checked_state, token_deviations, unit_tokens


def mean_cosine(x: Tensor) -> Tensor:
    """Mean signed cosine over all pairs of different tokens: :eq:`eq-cosine`.

    With ``u_i = x_i / |x_i|`` it is ``(|sum_i u_i|^2 - N) / (N (N - 1))``, which is
    ``1 - sum_i |u_i - mean(u)|^2 / (N - 1)``.

    Args:
        x: (..., N, d), N >= 2; a token of norm 0 has u_i = 0.

    Returns:
        (...), in [-1/(N - 1), 1]; 1 when all tokens point the same way.

    Raises:
        ValueError: fewer than two axes, or fewer than two tokens.
    """
    unit = unit_tokens(checked_state(x, 2))
    tokens = x.shape[-2]
    # Tokens of norm 0 leave sum_i |u_i|^2 short of N.
    present = (unit != 0).any(dim=-1).sum(dim=-1) / tokens
    return present - token_deviations(unit).sum(dim=-1) / (tokens - 1)


def dirichlet_energy(x: Tensor) -> Tensor:
    """Dirichlet energy of the complete graph: :eq:`eq-dirichlet`.

    The mean squared distance over all ordered pairs of tokens,
    ``N^-2 sum_jk |x_j - x_k|^2 = 2/N sum_i |x_i - mean(x)|^2``.

    Args:
        x: (..., N, d).

    Returns:
        (...), >= 0, in squared units of x; 0 when all tokens are equal.

    Raises:
        ValueError: fewer than two axes, or no token.
    """
    return 2 * token_deviations(x).mean(dim=-1)


def node_variance(x: Tensor) -> Tensor:
    """Variance over the tokens (divided by N), mean over the channels: :eq:`eq-variance`.

    Args:
        x: (..., N, d).

    Returns:
        (...), >= 0, in squared units of x.

    Raises:
        ValueError: fewer than two axes, or no token.
    """
    return token_deviations(x).mean(dim=-1) / x.shape[-1]


def relative_residual(x: Tensor) -> Tensor:
    """The share of X that its mean token does not explain: :eq:`eq-relative-residual`.

    ``|X - 1 mean(x)^T| / |X|`` in the Frobenius norm: the residual to a state of equal
    tokens, as a number that does not change when x is scaled.

    Args:
        x: (..., N, d).

    Returns:
        (...), in [0, 1]; 0 when all tokens are equal, 1 when their mean is 0. For a
        state of zeros it is 0.

    Raises:
        ValueError: fewer than two axes, or no token.

    Source: the residual is that of Dong, Cordonnier & Loukas (2021), who measure it in
    another norm; the quotient is ours.
    """
    x = checked_state(x, 1)
    # Scaled first, so that squares neither overflow nor underflow.
    tiny = torch.finfo(x.dtype).tiny
    x = x / x.abs().amax(dim=(-2, -1), keepdim=True).clamp(min=tiny)
    total = (x**2).sum(dim=(-2, -1))
    return (token_deviations(x).sum(dim=-1) / total.clamp(min=tiny)).sqrt()


def class_variances(x: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Split the variance of :func:`node_variance` into between-class and within-class: :eq:`eq-class-variance`.

    Args:
        x: (..., N, d).
        labels: class of each token, (N,), int64.

    Returns:
        Between and within, each (...); their sum is ``node_variance(x)``.

    Raises:
        ValueError: labels of another shape than (N,), fewer than two axes, or no token.
    """
    x = checked_state(x, 1)
    if labels.shape != x.shape[-2:-1]:
        raise ValueError(f"labels: found shape {tuple(labels.shape)}, allowed {tuple(x.shape[-2:-1])}")
    belongs = F.one_hot(torch.unique(labels, return_inverse=True)[1]).to(x.dtype)
    means = (belongs / belongs.sum(dim=0)).transpose(0, 1) @ x
    own_mean = belongs @ means
    return node_variance(own_mean), ((x - own_mean) ** 2).mean(dim=(-2, -1))


def effective_rank(x: Tensor) -> Tensor:
    """Effective rank of a state: :eq:`eq-effective-rank`.

    It is exp of the entropy of the singular values of X divided by their sum. X is not
    centred, so a state of equal tokens has rank 1.

    Args:
        x: (..., N, d).

    Returns:
        (...), from 1 to min(N, d); 0 for a state of zeros.

    Raises:
        ValueError: fewer than two axes, or no token.

    Source: Roy & Vetterli, The effective rank (2007).
    """
    x = checked_state(x, 1)
    share = torch.linalg.svdvals(x)
    total = share.sum(dim=-1, keepdim=True)
    share = share / torch.where(total == 0, torch.ones_like(total), total)
    return torch.exp(torch.special.entr(share).sum(dim=-1)) * (total.squeeze(-1) > 0)
