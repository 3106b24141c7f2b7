"""Many runs, resumable, one row a finished run: here, in processes of this machine, or on a Dask cluster.

On one machine a process writes its row itself, as soon as its run has ended: a killed parent loses no finished run.
The workers of a cluster need no file system in common: their rows travel to the calling process, which writes them.
Either way a row is written under the file lock unless it stands there, so a run that was done twice has one row.
"""

from wavy.sweep.loop import SweepError, sweep
from wavy.sweep.one import Failure, Runner
from wavy.sweep.progress import training_cost

__all__ = ["Failure", "Runner", "SweepError", "sweep", "training_cost"]
