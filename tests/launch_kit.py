"""Two processes on this machine, started by torch's own launcher."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest
import torch

#: For tests that start processes which find each other.
needs_gloo = pytest.mark.skipif(
    not (torch.distributed.is_available() and torch.distributed.is_gloo_available()), reason="torch has no gloo here"
)


def launch(script: str, *arguments: str, seconds: float = 300, **variables: str) -> None:
    """Run a script in two processes to its end; a failure, or more time than that, fails the test."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    launcher = ["-m", "torch.distributed.run", "--nproc-per-node=2", "--master-addr=127.0.0.1"]
    command = [sys.executable, *launcher, f"--master-port={port}", script, *arguments]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"} | variables
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=seconds)
    assert done.returncode == 0, done.stdout + done.stderr
