"""Runs on this machine: one after the other in this process, or side by side in processes of one thread each."""

from __future__ import annotations

import functools
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing.resource_tracker import ensure_running

import torch
from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky.process_executor import TerminatedWorkerError
from pydantic import BaseModel

from wavy.results import run_hash
from wavy.sweep.one import Failure, Outcome, hash_of

Do = Callable[[BaseModel], Outcome]

#: How often a process looks whether its parent lives.
WATCH_SECONDS = 0.5


class Here:
    """This process."""

    workers = 1

    def outcomes(self, do: Do, runs: Iterable[BaseModel]) -> Iterator[Outcome]:
        """Do the runs in turn."""
        for run in runs:
            yield do(run)


class Processes:
    """Processes of this machine, their threads pinned to one.

    Args:
        workers: how many, at least 2.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def outcomes(self, do: Do, runs: Iterable[BaseModel]) -> Iterator[Outcome]:
        """Do the runs; each starts when a process is free, in their order.

        joblib gives up all runs when one process dies. Those under way, one of which may be the reason, are then done
        one at a time; a run whose process dies again has failed, and the others go on.
        """
        runs, under_way = iter(runs), {}
        while True:
            try:
                for outcome in self._together(do, _tracked(runs, under_way)):
                    del under_way[hash_of(outcome)]
                    yield outcome
                return
            except TerminatedWorkerError:
                while under_way:
                    yield self._alone(do, under_way.pop(next(iter(under_way))))

    def _together(self, do: Do, runs: Iterable[BaseModel]) -> Iterator[Outcome]:
        ensure_running()  # Python's own process; its start, needed by joblib, would let interrupts through again
        with ExitStack() as stack:
            with parallel_config("loky", n_jobs=self.workers, inner_max_num_threads=1), _interrupts_held():
                # No run waits in a queue: none would start after the time is up, or after this process is killed.
                parallel = Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs")
                outcomes = parallel(delayed(_in_child)(do, run, os.getpid()) for run in runs)
                stack.callback(_close, outcomes)
            yield from outcomes

    def _alone(self, do: Do, run: BaseModel) -> Outcome:
        try:
            (outcome,) = self._together(do, [run])
        except TerminatedWorkerError:
            return Failure(run_hash(run), "its process died, also when it ran alone: killed, or out of memory")
        return outcome


def _close(outcomes: Generator[Outcome, None, None]) -> None:
    """End the processes of runs under way, if there are any; joblib would warn of them."""
    with warnings.catch_warnings(action="ignore"), _interrupts_held():
        outcomes.close()


def _tracked(runs: Iterator[BaseModel], under_way: dict[str, BaseModel]) -> Iterator[BaseModel]:
    for run in runs:
        under_way[run_hash(run)] = run
        yield run


def _in_child(do: Do, run: BaseModel, parent: int) -> Outcome:
    _end_with(parent)
    torch.set_num_threads(1)
    return do(run)


@functools.cache
def _end_with(parent: int) -> None:
    """Let this process end with its parent, also where that is killed and cannot say so."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(WATCH_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold back Ctrl-C for a moment.

    Processes and threads started meanwhile never see it: only the sweep answers it, and ends them.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
