"""The plans of BERT: which models are pre-trained at each scale, and in which setting."""

from __future__ import annotations

from wavy.dynamics import MIXED_KINDS
from wavy.experiments.bert_run import BertRun

#: The kinds that the paper has numbers of come first; its "mix (+light)" is kind light, by the formula it prints.
CLAIMED = ("diffusion", "light", "mix_full", "full")
ALL = (*CLAIMED, "mix_light")

#: What each scale changes in the defaults of a run. A masked model learns first to keep what it sees, and for long
#: nothing else; short sequences, large batches and a text that is read often let it read context within few steps.
SETTINGS = {
    "quick": {
        "dataset": "docstrings", "limit": 400_000, "vocab_size": 500, "depth": 2, "dim": 64, "heads": 4, "mlp_dim": 64,
        "length": 10, "batch_size": 128, "steps": 450, "lr": 5e-3, "dropout": 0.0, "init_std": 0.1, "masked": 0.3,
        "precision": "float64", "evaluated": 200, "nsp": False, "positions": 32,
    },
    "cpu": {
        "limit": 1_000_000, "vocab_size": 1024, "dim": 64, "mlp_dim": 128, "length": 10, "batch_size": 128,
        "steps": 3000, "lr": 2e-3, "dropout": 0.0, "init_std": 0.05, "nsp": False, "masked": 0.3,
        "positions": 64,
    },
    "gpu": {
        "limit": 1_000_000, "vocab_size": 1024, "dim": 128, "length": 16, "batch_size": 256, "steps": 2500,
        "dropout": 0.0, "init_std": 0.05, "nsp": False, "masked": 0.3, "positions": 128, "precision": "bf16",
    },
    "paper": {
        "dataset": "wikipedia+bookcorpus", "limit": 2_000_000_000, "vocab_size": 30_522, "depth": 24, "dim": 256,
        "heads": 4, "mlp_dim": 1024, "length": 128, "batch_size": 128, "steps": 100_000, "lr": 5e-5,
        "precision": "fp16", "evaluated": 10_000,
    },
}  # fmt: skip
#: What a deep and narrow model, where over-smoothing should bite, changes in the setting of a scale.
DEEP = {
    "quick": {"depth": 16, "dim": 16, "mlp_dim": 32},
    "cpu": {"depth": 48, "dim": 32, "mlp_dim": 64},
    "gpu": {"depth": 48, "dim": 64, "mlp_dim": 256},
    "paper": {"depth": 48, "dim": 128, "mlp_dim": 512},
}
#: What continues a scale's model on texts as long as GLUE's, since BERT's own recipe goes from short to long ones.
#: Scale ``paper`` trains on such texts from the start.
LONGER = {
    "quick": {"length": 32, "batch_size": 40, "steps": 50},
    "cpu": {"length": 64, "batch_size": 20, "steps": 500},
    "gpu": {"length": 128, "batch_size": 32, "steps": 500},
}
#: Learning rates that are tried for each kind, as multiples of the scale's.
SEARCHED = (0.5, 1.0, 2.0)

#: What each scale means where a parameter is ``None``.
SCALES = {
    "quick": {"residuals": ("diffusion", "full", "light"), "seeds": (0,)},
    "cpu": {"residuals": ALL, "seeds": (0, 1, 2, 3, 4)},
    "gpu": {"residuals": ALL, "seeds": (0,)},
    "paper": {"residuals": CLAIMED, "seeds": (0, 1, 2, 3, 4)},
}
#: What the plans have in place of a scale's values.
PLANS = {
    "deep": {"residuals": CLAIMED, "seeds": (0, 1)},
    "longer": {"residuals": CLAIMED},
    "search": {"residuals": CLAIMED, "seeds": (0,)},
}


def bert_run(residual: str, scale: str, plan: str = "kinds", *, seed: int = 0, **options: object) -> BertRun:
    """A run at the setting of a scale and a plan, with theta starting at 0 where there is one, then ``options``."""
    changes = {"deep": DEEP, "longer": LONGER}.get(plan, {}).get(scale, {})
    theta = {"theta_init": 0.0 if residual in MIXED_KINDS else None}
    start = {"start": bert_run(residual, scale, seed=seed)} if plan == "longer" else {}
    return BertRun(residual=residual, seed=seed, **(theta | SETTINGS[scale] | changes | start | options))
