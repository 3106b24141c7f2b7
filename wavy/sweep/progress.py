"""What a sweep says while it runs: how many runs, which one, how long it took, how much time is left."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from pydantic import BaseModel

from wavy.data.sizes import SIZES
from wavy.experiments.fields import worded
from wavy.rowfile import NAMED
from wavy.sweep.one import Failure, Outcome, hash_of


def training_cost(run: BaseModel) -> float:
    """The cost of a run beside that of others: depth times epochs times nodes and edges, each 1 where it has none."""
    depth, epochs = (getattr(run, name, None) or 1 for name in ("depth", "epochs"))
    return float(depth * epochs * sum(SIZES.get(getattr(run, "dataset", None), (1,))))


class Progress:
    """Counts the runs of a sweep.

    Args:
        runs: params_hash -> run, in the order in which they start.
        cost: a run's expected cost in any unit, more than 0.
    """

    def __init__(self, runs: Mapping[str, BaseModel], cost: Callable[[BaseModel], float]) -> None:
        self._costs = {name: cost(run) for name, run in runs.items()}
        self._runs = runs
        self.total = len(runs)
        self._fields = _telling_fields(list(runs.values()))
        self._spent = 0.0
        self._started = time.monotonic()

    @property
    def left(self) -> int:
        """How many runs have not ended."""
        return len(self._costs)

    def skip(self, name: str) -> None:
        """A run that another sweep has done meanwhile."""
        del self._costs[name]

    def name(self, params_hash: str) -> str:
        """A run in words, for instance "cora diffusion depth 8 tau 0.5 seed 2"."""
        return _describe(self._runs[params_hash], self._fields)

    def line(self, outcome: Outcome, workers: int) -> str:
        """Count a run that has ended, and say so in one line.

        Args:
            outcome: its row or failure.
            workers: how many runs go on at once.
        """
        name = hash_of(outcome)
        self._spent += self._costs.pop(name)
        left = time_left(time.monotonic() - self._started, self._spent, list(self._costs.values()), workers)
        said = f"failed: {outcome.error}" if isinstance(outcome, Failure) else f"{outcome['seconds']:.0f} s"
        return f"[{self.total - self.left}/{self.total}] {self.name(name)}: {said}, about {_duration(left)} left"


def time_left(elapsed: float, spent: float, left: Sequence[float], workers: int) -> float:
    """Seconds until all runs have ended, at the moment when one has just ended.

    The first of the remaining runs go on beside it; half of their cost is taken as spent.

    Args:
        elapsed: seconds since the start.
        spent: cost of the runs that have ended, more than 0.
        left: costs of the others, in their order.
        workers: how many runs go on at once.
    """
    under_way = sum(left[: workers - 1]) / 2
    return elapsed * (sum(left) - under_way) / (spent + under_way)


def _duration(seconds: float) -> str:
    return f"{seconds / 3600:.1f} h" if seconds >= 7200 else f"{seconds / 60:.0f} min"


def _telling_fields(runs: Sequence[BaseModel]) -> list[str]:
    """The fields that name a run: those of every row, then those in which these runs differ."""
    names = type(runs[0]).model_fields if runs else ()
    differing = [name for name in names if len({getattr(run, name, None) for run in runs}) > 1]
    return list(dict.fromkeys((*NAMED, *differing)))


def _describe(run: BaseModel, fields: Sequence[str]) -> str:
    values = {name: getattr(run, name, None) for name in fields}
    return " ".join(_word(name, value) for name, value in values.items() if value is not None)


def _word(name: str, value: object) -> str:
    if name in ("dataset", "residual"):
        return str(value)
    return worded(name, value)
