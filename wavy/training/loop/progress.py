"""A line about a run, every few seconds at most."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping


class Progress:
    """Says how far a run is.

    Args:
        first: steps done before.
        steps: of the whole run.
        report: called with a line; ``None`` for none.
        seconds: between two lines, at least. The first comes after as many.
        clock: seconds from any moment on.
    """

    def __init__(
        self,
        first: int,
        steps: int,
        report: Callable[[str], None] | None,
        seconds: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.first, self.steps, self.seconds = first, steps, seconds
        self._report, self._clock = report, clock
        self._start = self._last = clock()

    def after(self, step: int, loss: float, metrics: Mapping[str, float]) -> None:
        """Say something, if it is time to, or if this was the last step.

        Args:
            step: steps done.
            loss: of this step.
            metrics: of the latest evaluation.
        """
        now = self._clock()
        if self._report is None or (now - self._last < self.seconds and step < self.steps):
            return
        self._last = now
        rate = (step - self.first) / max(now - self._start, 1e-9)
        left = f", about {_duration((self.steps - step) / rate)} left" if step < self.steps else ""
        said = "".join(f", validation {name} {value:.4g}" for name, value in metrics.items())
        self._report(f"step {step}/{self.steps}: loss {loss:.4g}{said}, {rate:.3g} steps/s{left}")


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
