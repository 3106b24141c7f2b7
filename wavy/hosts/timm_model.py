"""What timm's models share once their blocks are wavy ones."""

from __future__ import annotations

import copy

import torch
from timm import layers
from timm.models import is_model
from torch import Tensor, nn

from wavy.hosts.conversion import ResidualOptions
from wavy.hosts.timm_block import WavyTimmBlock
from wavy.residual import Residual

#: The last parts of the names of the parameters that wavy adds.
OWN = {"theta", "lamb", "lamb1", "lamb2"}


class WavyTimmModel:
    """A model of timm's with blocks of :class:`wavy.hosts.timm_block.WavyTimmBlock`; ``stock`` is timm's class.

    Raises:
        RuntimeError: its last block put elsewhere without :meth:`mark_last`, whose memory would be lost; reentrant
            checkpointing, ``timm.layers.set_reentrant_ckpt(True)``, of a kind with a memory.
    """

    stock: type[nn.Module]

    def mark_last(self) -> None:
        """Let the last block, and no other, hand on the state alone. To be called again when ``blocks`` has changed."""
        for place, block in enumerate(self.blocks):
            last = place == len(self.blocks) - 1
            if block.last != last:
                self.blocks[place] = _marked(block, last)

    def no_weight_decay(self) -> set[str]:
        """timm's names, theta, and the gains of FeatScale and AttnScale."""
        own = {name for name, _ in self.named_parameters() if name.rpartition(".")[2] in OWN}
        return super().no_weight_decay() | own

    def prune_intermediate_layers(self, *args: object, **kwargs: object) -> list[int]:
        """As timm's."""
        kept = super().prune_intermediate_layers(*args, **kwargs)
        self.mark_last()
        return kept

    def forward_features(self, x: Tensor, *args: object, **kwargs: object) -> Tensor:
        """As timm's."""
        self._check_blocks()
        return super().forward_features(x, *args, **kwargs)

    def forward_intermediates(self, x: Tensor, *args: object, **kwargs: object) -> object:
        """As timm's; the memory passes from block to block beside the states that timm collects."""
        self._check_blocks()
        return self.stock.forward_intermediates(_StatesOnly(self), x, *args, **kwargs)

    def _check_blocks(self) -> None:
        if any(getattr(block, "last", False) for block in list(self.blocks)[:-1]):
            raise RuntimeError("blocks: found the last one in another place, allowed after a call of mark_last()")
        # Reentrant checkpointing sees tensors alone: the gradient of a pair would be lost without a word.
        if self.grad_checkpointing and torch.is_grad_enabled() and _reentrant():
            kinds = {block.residual.kind for block in self.blocks} - {"diffusion"}
            if kinds:
                raise RuntimeError(
                    f"set_reentrant_ckpt: found True with residual {min(kinds)!r}, allowed False where a memory passes "
                    "from block to block"
                )


def _marked(block: WavyTimmBlock, last: bool) -> WavyTimmBlock:
    """A block of the same parts in another place; the given one may stand elsewhere too, here or in another model."""
    marked = copy.copy(block)
    for name in ("_parameters", "_buffers", "_modules"):
        setattr(marked, name, getattr(block, name).copy())
    marked.last = last
    return marked


#: Whether timm checkpoints the reentrant way. Older versions, without the switch, leave it to torch, which does.
_reentrant = getattr(layers, "use_reentrant_ckpt", lambda: True)

#: timm's class of a model -> the wavy one.
Classes = dict[type[nn.Module], type[WavyTimmModel]]


class _StatesOnly:
    """A model whose blocks map states to states, for timm code that looks at the state between two blocks."""

    def __init__(self, model: WavyTimmModel) -> None:
        self.model, self.memory = model, None
        self.blocks = [_Carrier(self, block) for block in model.blocks]

    def __getattr__(self, name: str) -> object:
        return getattr(self.model, name)


class _Carrier:
    """One block; it keeps the memory that it was given, so that checkpointing can run it again."""

    def __init__(self, owner: _StatesOnly, block: WavyTimmBlock) -> None:
        self.owner, self.block, self.memory, self.ran = owner, block, None, False

    def __call__(self, x: Tensor, **kwargs: object) -> Tensor:
        if not self.ran:
            self.memory, self.ran = self.owner.memory, True
        out = self.block(x if self.memory is None else (x, self.memory), **kwargs)
        x, self.owner.memory = out if isinstance(out, tuple) else (out, None)
        return x


def convert_model(
    model: nn.Module,
    options: ResidualOptions,
    stock: type[nn.Module],
    wavy: type[WavyTimmBlock],
    classes: Classes,
) -> None:
    """Give a model of timm's other residuals, in place.

    Args:
        model: of a stock class or a wavy one.
        options: which residuals.
        stock: the class that its blocks have, exactly.
        wavy: the class that they become.
        classes: timm's class of a model -> the wavy one.

    Raises:
        ValueError: blocks of another class, or that cannot carry a velocity.
    """
    residuals: dict[nn.Module, Residual] = {}
    for block in dict.fromkeys(model.blocks):  # one in many places once
        if type(block) not in (stock, wavy):
            raise ValueError(f"model: found blocks of class {type(block).__name__}, allowed timm's {stock.__name__}")
        if type(block) is stock:
            block.__class__, block.featscale = wavy, None
        # Blocks that shared a residual share the new one.
        old = getattr(block, "residual", block)
        if old not in residuals:
            own = {"tau": old.tau, "form": old.form} if isinstance(old, Residual) else {}
            residuals[old] = options.build(model.embed_dim, next(block.parameters()), **own)
        block.set_residual(residuals[old])
    model.__class__ = classes.get(type(model), type(model))
    model.mark_last()
    name_as_wavy(model)
    # What timm saves beside the weights to build the model again.
    made = model.blocks[0].residual
    arguments = {"residual": made.kind, "tau": made.tau, "theta_init": made.theta_init, "form": made.form}
    model._model_args = getattr(model, "_model_args", {}) | arguments


def name_as_wavy(model: nn.Module) -> None:
    """Let timm save the model under its registered name ``wavy_...``, if there is one."""
    config = getattr(model, "pretrained_cfg", {})
    name = f"wavy_{config.get('architecture')}"
    if is_model(name):
        config["architecture"] = name
