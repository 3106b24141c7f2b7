"""What a training run finds, step by step."""

from __future__ import annotations

from dataclasses import dataclass, field

import pandas as pd


@dataclass
class Record:
    """What a run has found so far; each checkpoint holds it.

    Attributes:
        step: steps done.
        history: one list a column: loss, grad_norm and lr of each step.
        evaluations: one entry an evaluation: step, and what the task measures.
        skipped: steps whose update fp16 left out, since its scaled gradient overflowed.
    """

    step: int = 0
    history: dict[str, list[float]] = field(default_factory=lambda: {"loss": [], "grad_norm": [], "lr": []})
    evaluations: list[dict[str, float]] = field(default_factory=list)
    skipped: int = 0

    @property
    def measured(self) -> dict[str, float]:
        """The measures of the latest evaluation."""
        latest = self.evaluations[-1] if self.evaluations else {}
        return {name: value for name, value in latest.items() if name != "step"}

    def add_step(self, loss: float, grad_norm: float, lr: float, skipped: bool) -> None:
        """Count a step."""
        self.step += 1
        self.skipped += skipped
        for name, value in (("loss", loss), ("grad_norm", grad_norm), ("lr", lr)):
            self.history[name].append(value)

    def history_table(self) -> pd.DataFrame:
        """One row a step, counted from 1."""
        return pd.DataFrame({"step": range(1, self.step + 1), **self.history})
