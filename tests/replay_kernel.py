"""A pytest plugin (``-p replay_kernel``): nbval gets its outputs from a recording instead of a kernel.

Everything but the kernel is real: collection, checks, comparison. The recording is the file ``recording.json`` in the
folder of the notebook: an executed notebook.
"""

from __future__ import annotations

from collections import deque
from pathlib import Path
from queue import Empty

import nbformat
import nbval.plugin


class ReplayKernel:
    """Answers the k-th execution with the outputs of the k-th code cell of the recording, as nbval's RunningKernel."""

    def __init__(self, kernel_name: str, cwd: str, startup_timeout: float) -> None:
        recording = nbformat.read(Path(cwd) / "recording.json", as_version=4)
        self.cells = deque(cell for cell in recording.cells if cell.cell_type == "code")
        self.messages: deque[dict] = deque()

    def execute_cell_input(self, source: str, allow_stdin: bool | None = None) -> str:
        outputs = self.cells.popleft().outputs
        contents = [(output.output_type, output) for output in outputs] + [("status", {"execution_state": "idle"})]
        for kind, content in contents:
            self.messages.append({"msg_type": kind, "content": content, "parent_header": {"msg_id": "replayed"}})
        return "replayed"

    def await_reply(self, msg_id: str, timeout: float | None = None) -> None:
        """The reply is there at once."""

    def await_idle(self, msg_id: str, timeout: float | None = None) -> None:
        self.messages.clear()

    def get_message(self, stream: str, timeout: float | None = None) -> dict:
        if not self.messages:
            raise Empty
        return self.messages.popleft()

    def is_alive(self) -> bool:
        return True

    def stop(self) -> None:
        """There is nothing to stop."""


def pytest_configure() -> None:
    nbval.plugin.RunningKernel = ReplayKernel
