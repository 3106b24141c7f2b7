"""Where the states of a timm model are: after its blocks, or after its stages where it has feature maps."""

from __future__ import annotations

from contextlib import ExitStack

import torch
from torch import Tensor, nn

from wavy.diagnostics.profile import find_blocks


class StageStates(nn.Module):
    """A model of feature maps with a state a stage: the positions of a map are its tokens.

    Args:
        model: one of timm's with ``forward_intermediates``.

    Shapes:
        - **input:** images (B, 3, height, width).
        - **states:** (B, positions, channels), the outputs of :attr:`stages`.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        self.stages = nn.ModuleList(nn.Identity() for _ in model.feature_info)

    def forward(self, images: Tensor) -> None:
        """Hand the state of each stage through its place in :attr:`stages`."""
        maps = self.model.forward_intermediates(images, output_fmt="NCHW", intermediates_only=True)
        for stage, each in zip(self.stages, maps, strict=True):
            stage(each.flatten(2).transpose(1, 2))


def states_of(model: nn.Module, size: tuple[int, int]) -> tuple[nn.Module, list[nn.Module] | None]:
    """What to call and the modules whose outputs are the states, (B, N, d).

    timm lists one feature a block for a model whose blocks are alike, and one a stage for the others. These, and models
    whose blocks hand on maps, are measured by their stages.

    Args:
        model: any of timm's.
        size: height and width of an image.
    """
    try:
        blocks = find_blocks(model)
    except ValueError:
        blocks = []
    features = getattr(model, "feature_info", None) or []
    if len(features) == len(blocks) and _give_tokens(model, blocks, torch.zeros(1, 3, *size)):
        return model, blocks
    if features and hasattr(model, "forward_intermediates"):
        stages = StageStates(model)
        return stages, list(stages.stages)
    return model, None


@torch.no_grad()
def _give_tokens(model: nn.Module, blocks: list[nn.Module], image: Tensor) -> bool:
    """Whether each block hands on one state (1, N, d) for one image, alone or before its memory."""
    shapes = []

    def note(_module: nn.Module, _inputs: object, output: object) -> None:
        first = output[0] if isinstance(output, tuple) else output
        shapes.append(tuple(first.shape))

    with ExitStack() as stack:
        for block in blocks:
            stack.callback(block.register_forward_hook(note).remove)
        model.eval()(image)
    return all(len(shape) == 3 and shape[0] == 1 for shape in shapes)
