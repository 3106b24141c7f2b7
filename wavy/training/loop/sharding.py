"""FSDP: a model whose weights are cut into parts while it is trained, and that is whole afterwards."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from torch import nn

from wavy.training.loop.finite import NonFinite

if TYPE_CHECKING:
    from accelerate import Accelerator


@contextmanager
def whole_afterwards(accelerator: Accelerator, model: nn.Module) -> Iterator[nn.Module]:
    """What is to be trained: the model itself, or where FSDP shards, a copy whose weights the model gets at the end.

    FSDP cuts the weights of a module for good. What comes after training (measuring, keeping the weights) takes any
    module as it is, so the caller's own stays whole, and is moved to where the copy was trained.

    Args:
        accelerator: of the run.
        model: of one process; all have the same.

    Raises:
        ValueError: FSDP in its first version, which cuts other weights in another way.
    """
    check_version(accelerator)
    if not accelerator.is_fsdp2:
        yield model
        return
    sharded = copy.deepcopy(model)
    try:
        yield sharded
    except NonFinite:  # found by all processes, so that all of them come here
        _take_weights(model, sharded, accelerator)
        raise
    _take_weights(model, sharded, accelerator)


def check_version(accelerator: Accelerator) -> None:
    """Raise ValueError where FSDP is asked for in another version than the second."""
    from accelerate.utils import DistributedType  # noqa: PLC0415 (an extra)

    if accelerator.distributed_type == DistributedType.FSDP and not accelerator.is_fsdp2:
        raise ValueError("fsdp_version: found 1 in Accelerate's configuration, allowed 2")


def _take_weights(model: nn.Module, sharded: nn.Module, accelerator: Accelerator) -> None:
    # Not in every build of torch, and only needed here.
    from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict  # noqa: PLC0415

    whole = get_model_state_dict(sharded, options=StateDictOptions(full_state_dict=True))
    model.to(accelerator.device).load_state_dict(whole)
