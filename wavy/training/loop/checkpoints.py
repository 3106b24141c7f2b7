"""Checkpoints from which a run goes on as if it had never stopped."""

from __future__ import annotations

import json
import logging
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from wavy.training.loop.sums import RECORD, Damaged, read_record, write_record

if TYPE_CHECKING:
    from accelerate import Accelerator

#: The folder that is being written; it gets its name when it is complete.
UNFINISHED = "unfinished"

log = logging.getLogger("wavy.training")


class Checkpoints:
    """The checkpoints of one run: folders ``step-000000100`` and so on, of which the last few are kept.

    Each holds what Accelerate saves (weights, optimizer, scale of fp16, the generators of each process) and the
    record of the loop. A checkpoint is written elsewhere and renamed when it is complete: a run that is killed at any
    moment leaves the ones before it as they are. One that is damaged is told and passed by.

    Args:
        folder: seen by all processes.
        facts: what a run must have in common with a checkpoint to go on from it; JSON values.
        keep: how many stay.
    """

    def __init__(self, folder: Path, facts: dict[str, Any], keep: int) -> None:
        self.folder, self.keep = Path(folder), keep
        self.facts = json.loads(json.dumps(facts))
        self._start: Path | None = None

    def latest(self) -> Path | None:
        """The checkpoint of the highest step of those that are intact."""
        found = self._latest()
        return found and found[0]

    def record(self) -> dict[str, Any] | None:
        """The loop's record in the latest intact checkpoint, ``None`` where there is no checkpoint.

        Raises:
            ValueError: it is one of another run, or all are damaged.
        """
        if (found := self._latest()) is None:
            if self._complete():
                raise ValueError(
                    f"folder: found damaged checkpoints alone in {self.folder}, allowed an intact one or another folder"
                )
            return None
        self._start = path = found[0]
        record = found[1]
        theirs = record.pop("facts")
        names = [name for name in self.facts | theirs if theirs.get(name) != self.facts.get(name)]
        if names:
            found = ", ".join(f"{name} {theirs.get(name)!r} instead of {self.facts.get(name)!r}" for name in names)
            raise ValueError(f"folder: found {path} of a run with {found}; allowed the same run, or another folder")
        return record

    def load(self, accelerator: Accelerator) -> None:
        """Give everything that Accelerate has prepared the state of the checkpoint of :meth:`record`."""
        path = self._start
        # Accelerate goes on in silence where it cannot restore the generators; it sets torch's last.
        torch.manual_seed(_NEVER_SAVED)
        before = _generator_states()
        accelerator.load_state(str(path))
        if any(torch.equal(state, other) for state, other in zip(before, _generator_states(), strict=True)):
            raise ValueError(
                f"folder: found {path} without readable random states of process {accelerator.process_index}"
            )

    def save(self, accelerator: Accelerator, step: int, record: dict[str, Any]) -> None:
        """Write the checkpoint after ``step`` steps; remove the oldest, and damaged ones of later steps.

        Called by all processes.

        Args:
            accelerator: of the run.
            step: steps done.
            record: JSON values.
        """
        unfinished, main = self.folder / UNFINISHED, accelerator.is_main_process
        if main:
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir(parents=True)
        accelerator.wait_for_everyone()
        accelerator.save_state(str(unfinished))
        accelerator.wait_for_everyone()
        if main:
            write_record(unfinished, {"facts": self.facts, **record})
            _to_disk(unfinished)
            path = self.folder / f"step-{step:09d}"
            if path.exists():  # damaged, or the rest of one that was being removed
                shutil.rmtree(path)
            unfinished.rename(path)
            done = [other for other in self._complete() if other <= path]
            for other in set(self._complete()) - set(done[-self.keep :]):
                shutil.rmtree(other)
        accelerator.wait_for_everyone()

    def _latest(self) -> tuple[Path, dict[str, Any]] | None:
        for path in reversed(self._complete()):
            try:
                return path, read_record(path)
            except Damaged as damage:
                log.warning("folder: %s is damaged (%s), an earlier checkpoint is looked for", path, damage)
        return None

    def _complete(self) -> list[Path]:
        return sorted(path.parent for path in self.folder.glob(f"step-*/{RECORD}"))


#: No run has this seed, so no checkpoint holds its states.
_NEVER_SAVED = 2**62 + 1


def _generator_states() -> list[torch.Tensor]:
    return [torch.get_rng_state(), *(torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [])]


def _to_disk(folder: Path) -> None:
    """Wait until the files are on the disk: a rename may get there before them, and then the power fail."""
    for path in [*(path for path in folder.rglob("*") if path.is_file()), folder]:
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)
