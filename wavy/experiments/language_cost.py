"""What a training run costs: floating-point operations, counted from its parameters, and hours on a graphics card."""

from __future__ import annotations

from wavy.experiments.bert_run import BertRun
from wavy.experiments.language_run import LanguageRun

#: Forward, and twice as much backward.
PASSES = 3
CARRYING = ("full", "mix_full")


def forward_products(run: LanguageRun) -> float:
    """Multiplications with the addition that follows, of one sequence forward; matrix products alone.

    A layer takes 4 d^2 + 2 N d + 2 d m a token: projections, attention and mlp. A velocity passes every mlp but the
    last. BERT's head for tokens sees the masked ones alone, its head for pairs one.
    """
    n, d, m = run.length, run.dim, run.mlp_dim
    layers = run.depth * (4 * d**2 + 2 * n * d + 2 * d * m)
    velocity = (run.depth - 1) * 2 * d * m if run.residual in CARRYING else 0
    if isinstance(run, BertRun):
        head = round(run.masked * n) * (d**2 + d * run.vocab_size) + d**2 + 2 * d
    else:
        head = n * d * run.vocab_size
    return n * (layers + velocity) + head


def training_flops(run: LanguageRun) -> float:
    """Floating-point operations of a run and of what it starts from, two for each of its :func:`forward_products`."""
    earlier = getattr(run, "start", None)
    own = 2.0 * PASSES * run.steps * run.batch_size * forward_products(run)
    return own + (training_flops(earlier) if earlier else 0)


def gpu_hours(flops: float, peak: float, share: float) -> float:
    """Hours on a graphics card.

    Args:
        flops: operations in all.
        peak: the card's operations a second, as its maker states them.
        share: of the peak that is reached; 0.3 is usual for wide models, narrow ones reach less.
    """
    return flops / (peak * share) / 3600
