"""nbval with numbers compared as numbers, and without its gaps; ``notebooks/conftest.py`` switches it on.

Plain ``pytest --nbval notebooks/`` compares strings, passes a cleared notebook, takes stdout for stderr, and waits for
minutes when a kernel dies. The hook below puts subclasses of nbval's own collector and item in their place:

* before the first cell, an item ``reference`` applies ``checks`` and ``pairing`` to the committed notebook;
* each cell is compared by ``comparer``, with the tolerance in the cell's metadata;
* a cell that says its data set cannot be had skips the rest of the notebook, with that line as the reason;
* a notebook that passed whole is entered in the ``ledger``.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from queue import Empty
from time import monotonic

import pytest
from nbval.plugin import IPyNbCell, IPyNbFile, NbCellError

from wavy.companion import ledger
from wavy.companion.availability import unavailable
from wavy.companion.comparer import compare_outputs
from wavy.companion.numeric_text import Tolerance
from wavy.companion.pairing import check_notebook
from wavy.companion.paths import Layout

__all__ = ["pytest_collect_file", "pytest_configure"]


def pytest_configure(config: pytest.Config) -> None:
    """Show the reasons of skipped cells at the end of the run."""
    if "s" not in config.option.reportchars:
        config.option.reportchars += "s"


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path, parent):
    """Let notebooks be validated by the classes below."""
    collectors = yield
    return [
        NotebookFile.from_parent(parent, path=file_path) if isinstance(collector, IPyNbFile) else collector
        for collector in collectors
    ]


class KernelDiedError(Exception):
    """The kernel's process ended while a cell ran."""


class NotebookFile(IPyNbFile):
    """One committed notebook: its checks, then its cells."""

    def __init__(self, *args, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.layout = Layout(self.path.parent)
        self.unavailable: str | None = None
        self.items = 0
        self.passed = 0

    def collect(self) -> Iterator[pytest.Item]:
        cells = list(super().collect())
        self.items = 1 + len(cells)
        yield ReferenceItem.from_parent(self, name="reference")
        for cell in cells:
            yield NotebookCell.from_parent(
                self, name=cell.name, cell_num=cell.cell_num, cell=cell.cell, options=cell.options
            )

    def setup(self) -> None:
        self.state = ledger.state(self.layout, self.path.stem)
        # The kernel of this very environment, whatever else is called python3 on the machine.
        self.config.option.nbval_current_env = not self.config.option.nbval_kernel_name
        super().setup()
        await_reply = self.kernel.await_reply
        self.kernel.await_reply = lambda msg_id, timeout: _await_reply(self.kernel, await_reply, msg_id, timeout)

    def teardown(self) -> None:
        if self.passed == self.items and not self.config.option.nbval_lax:
            ledger.record(self.layout, self.path.stem, self.state, by="nbval")
        super().teardown()


class ReferenceItem(pytest.Item):
    """The checks that need no run."""

    def runtest(self) -> None:
        lines = check_notebook(self.parent.layout, self.path.stem)
        if lines:
            raise InvalidNotebookError("\n".join(f"{self.path.name}: {line}" for line in lines))
        self.parent.passed += 1

    def repr_failure(self, excinfo):
        return str(excinfo.value) if excinfo.errisinstance(InvalidNotebookError) else super().repr_failure(excinfo)

    def reportinfo(self):
        return self.path, 0, f"{self.path.name}::reference"


class InvalidNotebookError(Exception):
    """What is wrong with a committed notebook, one thing a line."""


class NotebookCell(IPyNbCell):
    """One cell, run by nbval and compared by our rule."""

    def setup(self) -> None:
        if self.parent.unavailable:
            pytest.skip(self.parent.unavailable)
        super().setup()

    def runtest(self) -> None:
        self.committed = deepcopy(self.cell.outputs)  # nbval moves all of a stream to its first place, here too
        try:
            super().runtest()
        except KernelDiedError as death:
            self.raise_cell_error(str(death))
        except NbCellError:
            self.parent.unavailable = unavailable(self.test_outputs)
            if self.parent.unavailable:
                pytest.skip(self.parent.unavailable)
            raise
        self.parent.passed += 1

    def compare_outputs(self, test, ref, skip_compare=None) -> bool:
        expected, found = self.sanitize_outputs(self.committed), self.sanitize_outputs(test)
        difference = compare_outputs(expected, found, Tolerance.of_cell(self.cell.metadata))
        self.comparison_traceback = [difference] if difference else []
        return difference is None


def _await_reply(kernel, await_reply, msg_id: str, timeout: float) -> None:
    """Wait for a reply as nbval does, but look every second whether the kernel still lives."""
    deadline = monotonic() + timeout
    while True:
        try:
            return await_reply(msg_id, timeout=min(1.0, max(deadline - monotonic(), 0.0)))
        except Empty:
            if not kernel.is_alive():
                raise KernelDiedError("The kernel died while it ran this cell (killed, or out of memory)") from None
            if monotonic() >= deadline:
                raise
