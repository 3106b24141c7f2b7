"""Tiny versions of the timm models that wavy registers."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

timm = pytest.importorskip("timm")

from wavy.dynamics import KINDS  # noqa: E402
from wavy.hosts import cait, vit  # noqa: E402

NAMES = vit.NAMES + cait.NAMES

#: One name for each way in which timm builds such a model: plain, two tokens, LayerScale, CaiT.
FEW = ("vit_tiny_patch16_224", "deit_tiny_distilled_patch16_224", "deit3_small_patch16_224", "cait_xxs24_224")

SCALES = {"featscale": True, "attnscale": True}
SMALL = {"img_size": 32, "patch_size": 8, "embed_dim": 12, "depth": 3, "num_heads": 3, "num_classes": 5}

kinds = pytest.mark.parametrize("kind", KINDS)
names = pytest.mark.parametrize("name", NAMES)
few = pytest.mark.parametrize("name", FEW)


def small(name: str, kind: str = "diffusion", **options: object) -> nn.Module:
    """A wavy model in float64 and eval mode whose LayerScale, theta and gains are far from their start values."""
    torch.manual_seed(0)
    return lively(timm.create_model(f"wavy_{name}", residual=kind, **SMALL | options).double().eval())


def stock(name: str, **options: object) -> nn.Module:
    """timm's own model of the same size."""
    torch.manual_seed(0)
    return lively(timm.create_model(name, **SMALL | options).double().eval())


def lively(module: nn.Module) -> nn.Module:
    """Draw the vectors that start constant, and weights large enough to show in the output."""
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            own = name.rpartition(".")[2].startswith(("gamma", "theta", "lamb"))
            parameter.normal_(0, 0.5) if own or parameter.dim() == 2 else None
    return module


def images(batch: int = 2, height: int = 32, width: int = 32) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(batch, 3, height, width, generator=generator, dtype=torch.float64)


def state(output: Tensor | tuple) -> Tensor:
    """The state in what a block hands on."""
    return output[0] if isinstance(output, tuple) else output


def states(model: nn.Module, x: Tensor) -> list[Tensor]:
    """The state after each block in a forward pass."""
    seen: list[Tensor] = []
    hooks = [block.register_forward_hook(lambda m, i, out: seen.append(state(out))) for block in model.blocks]
    model(x)
    for hook in hooks:
        hook.remove()
    return seen


def own_names(model: nn.Module) -> list[str]:
    """The parameters of a model that wavy adds to timm's, in order."""
    return [name for name, _ in model.named_parameters() if name.rpartition(".")[2].startswith(("theta", "lamb"))]
