"""Runs on the workers of a Dask cluster.

This uses distributed's futures and not joblib's Dask backend: joblib 1.6 waits for ever when a task ends by an error
outside its function, for instance when it has killed its workers; and it does not use workers that come later.
"""

from __future__ import annotations

import hashlib
import importlib
import logging
import pickle
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

import cloudpickle
from distributed import Client, Future, KilledWorker, wait
from pydantic import BaseModel

import wavy
from wavy import __version__, results
from wavy.sweep.local import Do
from wavy.sweep.one import Failure, Outcome

#: How long to wait for the scheduler's answer, and for a first worker.
CONNECT_SECONDS = 5
#: How long to go on without any worker.
PATIENCE_SECONDS = 600
#: How often to look for workers that have come or gone.
POLL_SECONDS = 1
#: How long a scheduler may take for an answer once runs have begun.
ANSWER_SECONDS = 120


def _digest(folder: Path) -> str:
    """Twelve hex digits for all Python files below a folder, committed or not."""
    files = sorted((path.relative_to(folder).as_posix(), path.read_bytes()) for path in folder.rglob("*.py"))
    return hashlib.sha256(repr(files).encode()).hexdigest()[:12]


#: What a worker must have to give the rows that this process would give.
CODE = f"wavy {__version__}, source {_digest(Path(wavy.__file__).parent)}"

Call = Callable[[bytes], Outcome | None]


class Cluster:
    """The workers of a scheduler, one run at a time on each.

    Args:
        address: of the scheduler, for instance ``tcp://host:8786``.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self.workers = 1

    def outcomes(self, do: Do, runs: Iterator[BaseModel]) -> Iterator[Outcome]:
        """Do the runs; each starts when a worker is free, in their order. Workers may come and go.

        The run of a worker that dies is done again by another; after some deaths (Dask's ``allowed-failures``) it has
        failed.

        Raises:
            ValueError: no scheduler answers, no worker is there, a worker is unfit, or the cluster is lost.
        """
        call = _by_value(CODE)
        with _connected(self.address) as client:
            self._check(client, call, do)
            under_way: dict[Future, BaseModel] = {}
            try:
                while True:
                    self._count_workers(client)
                    for run in islice(runs, max(0, self.workers - len(under_way))):
                        under_way[client.submit(call, cloudpickle.dumps((do, run)), pure=False)] = run
                    if not under_way:
                        return
                    for future in _ended(under_way):
                        yield _outcome(future, under_way.pop(future))
            except (CancelledError, OSError):  # a timeout is an OSError
                raise ValueError(
                    f"cluster: the scheduler at {self.address} is gone or does not answer; the rows so far stand"
                ) from None

    def _check(self, client: Client, call: Call, do: Do) -> None:
        try:
            client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except TimeoutError:
            raise ValueError(f"cluster: no worker at {self.address}; dask worker {self.address} --nthreads 1") from None
        for worker, error in client.run(call, cloudpickle.dumps((do, None)), on_error="return").items():
            if error:
                raise ValueError(f"cluster: worker {worker}: {error}")
        self._seen = time.monotonic()

    def _count_workers(self, client: Client) -> None:
        threads = client.sync(client.scheduler.ncores, callback_timeout=ANSWER_SECONDS)  # nthreads would wait for ever
        for worker, number in threads.items():
            # Runs side by side in one process would draw from the same random numbers.
            if number > 1:
                raise ValueError(f"cluster: worker {worker}: found {number} threads, allowed 1: --nthreads 1")
        if threads:
            self.workers, self._seen = len(threads), time.monotonic()
        elif time.monotonic() - self._seen > PATIENCE_SECONDS:
            raise ValueError(f"cluster: no worker at {self.address} for {PATIENCE_SECONDS} s; the rows so far stand")


@contextmanager
def _connected(address: str) -> Iterator[Client]:
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # what is wrong is said here, in one line
    try:
        client = Client(address, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        raise ValueError(f"cluster: no scheduler answers at {address} ({error}); start one: dask scheduler") from None
    try:
        yield client
    finally:
        with suppress(OSError):
            client.close(timeout=CONNECT_SECONDS)


def _by_value(code: str) -> Call:
    """The function that a worker calls. It travels as code, so that a worker without wavy can say so.

    Its argument is pickled, a function and the run that it takes; with None as the run, it only looks whether all is
    there.
    """

    def call(payload: bytes) -> Outcome | None:
        try:
            found = importlib.import_module("wavy.sweep.cluster").CODE
            do, run = pickle.loads(payload)
        except ImportError as error:
            raise RuntimeError(f"found {error}, allowed {code}") from None
        if found != code:
            raise RuntimeError(f"found {found}, allowed {code}")
        importlib.import_module("torch").set_num_threads(1)  # as in processes here: the same rows
        return do(run) if run else None

    return call


def _ended(futures: Iterable[Future]) -> set[Future]:
    try:
        return wait(list(futures), timeout=POLL_SECONDS, return_when="FIRST_COMPLETED").done
    except TimeoutError:
        return set()


def _outcome(future: Future, run: BaseModel) -> Outcome:
    """What came of a run. Any error but the worker's death is none of the run but of an unfit worker, come later."""
    error = future.exception() if future.status == "error" else None
    if isinstance(error, KilledWorker):
        return Failure(results.run_hash(run), "each worker that took it died: killed, or out of memory")
    if error:
        raise ValueError(f"cluster: a worker that came later: {error}; the rows so far stand")
    return future.result()
