"""Runs whose weights FSDP cuts into parts, one a process."""

from __future__ import annotations

import os
from unittest.mock import patch

import torch
from accelerate import FullyShardedDataParallelPlugin
from accelerate.state import DistributedType, PartialState

#: Older versions of accelerate have version 1 alone.
HAS_FSDP_2 = hasattr(FullyShardedDataParallelPlugin, "fsdp_version")


def sharded(run, layer=None):
    """A run under FSDP, asked for as a launcher does. Accelerate shards over GPUs alone: the CPUs pass for such.

    Args:
        run: what to run.
        layer: the class of which each module is sharded on its own; ``None`` shards the model as a whole.
    """
    configured = {"USE_FSDP": "true", "TORCH_DEVICE": "cpu"}
    environment = {f"ACCELERATE_{name}": value for name, value in configured.items()} | {"FSDP_VERSION": "2"}
    if layer:
        wrapped = {"AUTO_WRAP_POLICY": "TRANSFORMER_BASED_WRAP", "TRANSFORMER_CLS_TO_WRAP": layer}
    else:
        wrapped = {"AUTO_WRAP_POLICY": "NO_WRAP"}
    environment |= {f"FSDP_{name}": value for name, value in wrapped.items()}
    if not torch.distributed.is_initialized():
        torch.distributed.init_process_group("gloo")
    as_gpus = patch.object(PartialState, "_prepare_backend", lambda *_: ("gloo", DistributedType.MULTI_GPU))
    with patch.dict(os.environ, environment), as_gpus:
        return run()
