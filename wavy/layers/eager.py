"""When a layer may be computed by hand, with less time and memory than its formula takes under autograd."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.autograd.forward_ad import unpack_dual


def by_hand(*tensors: Tensor | None) -> bool:
    """Whether nothing looks at the single operations, so that they need not be those of the formula.

    A compiler saves and recomputes as it sees fit, and the transforms of ``torch.func`` and forward-mode derivatives
    differentiate what is called: they get the formula.
    """
    return not (
        torch.compiler.is_compiling()
        or torch.jit.is_tracing()
        # Private, and what torch.autograd.Function itself asks before it runs.
        or torch._C._are_functorch_transforms_active()
        or any(tensor is not None and unpack_dual(tensor).tangent is not None for tensor in tensors)
    )


def needs_graph(*tensors: Tensor | None) -> bool:
    """Whether autograd will want to know how the result was made."""
    return torch.is_grad_enabled() and any(tensor is not None and tensor.requires_grad for tensor in tensors)


def gradients_of(
    formula: Callable[..., Sequence[Tensor]],
    inputs: Sequence[Tensor | None],
    needed: Sequence[bool],
    gradients: Sequence[Tensor],
) -> tuple[Tensor | None, ...]:
    """The gradients of a formula as autograd takes them, which can be differentiated again.

    Args:
        formula: maps ``inputs`` to tensors.
        inputs: its arguments.
        needed: which of them need a gradient; may be longer, the rest counting for arguments that are no tensors.
        gradients: with respect to the results.

    Returns:
        One entry for each of ``needed``, ``None`` where none is needed.
    """
    with torch.enable_grad():
        # Names of their own: one input may have been made of another, and that way is not this formula's.
        inputs = [None if tensor is None else tensor.view_as(tensor) for tensor in inputs]
        results = formula(*inputs)
    wanted = [tensor for tensor, need in zip(inputs, needed, strict=False) if need]
    found = iter(torch.autograd.grad(results, wanted, gradients, create_graph=True, allow_unused=True))
    return tuple(next(found) if need else None for need in needed)
