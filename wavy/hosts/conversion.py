"""Another residual for a model that exists, for instance a pretrained one: its weights are kept and shared."""

from __future__ import annotations

import copy
import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from torch import Tensor, nn

from wavy.checks import check_choice
from wavy.dynamics import KINDS
from wavy.residual import Residual, check_residual


@dataclass(frozen=True)
class ResidualOptions:
    """What :func:`wavify` was asked for; the arguments of :class:`wavy.residual.Residual`.

    Args:
        residual: one of :data:`wavy.dynamics.KINDS`.
        tau: step size; ``None`` for the host's own, which is 1/2 in the form ``stock``.
        theta_init: start value of theta.
        form: one of :data:`wavy.residual.FORMS`; ``None`` for the host's own.
    """

    residual: str
    tau: float | None = None
    theta_init: float = 0.0
    form: str | None = None

    def build(self, dim: int, like: Tensor, tau: float = 0.5, form: str = "stock") -> Residual:
        """One layer's residual, on the device and in the type of ``like``; ``tau`` and ``form`` are the host's own."""
        tau = tau if self.tau is None else self.tau
        built = Residual(dim, self.residual, tau, self.theta_init, form if self.form is None else self.form)
        return built.to(like)


Converter = Callable[[nn.Module, ResidualOptions], None]

#: Class of a model, exactly -> what changes an instance of it, in place. A host adds its own by :func:`converter`.
CONVERTERS: dict[type[nn.Module], Converter] = {}

#: First part of a class's module -> the hosts to import before looking for a converter.
HOSTS = {
    "timm": ("wavy.hosts.vit", "wavy.hosts.cait"),
    "transformers": ("wavy.hosts.bert", "wavy.hosts.gpt2"),
    "torch": ("wavy.hosts.encoder",),
}

SUPPORTED = (
    "timm's VisionTransformer and Cait, transformers' Bert and GPT2 models, torch.nn.TransformerEncoder, wavy's own "
    "models"
)


def converter(*classes: type[nn.Module]) -> Callable[[Converter], Converter]:
    """Register a function ``(model, options) -> None`` that gives an instance of exactly these classes new residuals.

    It is called with a copy that shares the parameters and may change it as it likes; ``options.build(dim, like)``
    makes the residual of one layer. The blocks must hand the memory on from one to the next. For a model of your own::

        class Block(nn.Module):
            def __init__(self, dim):
                super().__init__()
                self.attention = Attention(dim)
                self.residual = wavy.Residual(dim, "diffusion", form="stock")

            def forward(self, x, memory=None):
                return self.residual(x, self.attention(x), memory)

        @wavy.converter(Model)  # its forward: for block in self.blocks: x, memory = block(x, memory)
        def convert(model, options):
            for block in model.blocks:
                block.residual = options.build(block.residual.dim, like=block.attention.weight)

        light = wavy.wavify(model, "light")

    A class derived from a supported one is not converted as that one, since its ``forward`` may lose the memory. Where
    it does not, register it with its base's converter: ``wavy.converter(MyEncoder)(wavy.hosts.encoder.convert)``.
    """

    def register(convert: Converter) -> Converter:
        CONVERTERS.update(dict.fromkeys(classes, convert))
        return convert

    return register


def wavify(
    model: nn.Module,
    residual: str = "light",
    tau: float | None = None,
    theta_init: float = 0.0,
    form: str | None = None,
) -> nn.Module:
    """A copy of a model with another residual connection; the model itself stays as it is.

    Parameters and buffers are those of the original, the very same tensors: training the one trains the other. All
    else is copied as by ``copy.deepcopy``, hooks and attributes included. New are the parameters theta of the kinds
    that have a lambda. With a very negative ``theta_init`` (say -30) and the host's own ``tau``, ``light``,
    ``mix_full`` and ``mix_light`` start with the outputs of the plain original, so that fine-tuning begins where it
    left off.

    Args:
        model: one of the supported models, or a module that holds some, each of which is converted: timm's
            ``VisionTransformer`` and ``Cait``, transformers' Bert and GPT2 models, ``torch.nn.TransformerEncoder`` (of
            a ``torch.nn.Transformer`` the encoder; its decoder stays), wavy's own, and those with a :func:`converter`.
            One layer alone, as ``torch.nn.TransformerEncoderLayer``, has no other to hand a memory to and is none.
        residual: one of :data:`wavy.dynamics.KINDS`.
        tau: step size; ``None`` for the host's own: 1/2, or that of one of wavy's own models.
        theta_init: start value of theta.
        form: one of :data:`wavy.residual.FORMS`; ``None`` for the host's own: ``stock``, or that of one of wavy's own
            models.

    Raises:
        ValueError: an argument out of its range, or blocks that are not the host's own.
        TypeError: no supported model found, or a class derived from a supported one.
    """
    check_choice("residual", residual, KINDS)
    # Where the form is the host's own, the step is checked once more with it.
    check_residual(1, residual, 0.5 if tau is None else tau, theta_init, "euler" if form is None else form)
    options = ResidualOptions(residual, tau, theta_init, form)
    found = list(_supported(model, set())) if isinstance(model, nn.Module) else []
    if not found:
        raise TypeError(
            f"model: found {type(model).__name__}, allowed {SUPPORTED}, or a module that holds one of them; for "
            "blocks of your own call wavy.Residual in them: (x, memory) -> (x, memory), and register their model's "
            "class with wavy.converter"
        )
    # What deepcopy finds in its memo it does not copy; after it, the memo leads from each part to its copy.
    memo = {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers(), *_computed(model))}
    copied = copy.deepcopy(model, memo)
    for part in found:
        CONVERTERS[type(part)](memo[id(part)], options)
    _set_modes(copied)
    return copied


def _computed(model: nn.Module) -> Iterator[Tensor]:
    """Attributes that were computed from parameters, as weights by pruning are: torch refuses to copy them."""
    for module in model.modules():
        for value in vars(module).values():
            if isinstance(value, Tensor) and not value.is_leaf:
                yield value


def _supported(module: nn.Module, seen: set[nn.Module]) -> Iterator[nn.Module]:
    """The outermost modules that have a converter, each once."""
    if module in seen:
        return
    seen.add(module)
    if _has_converter(type(module)):
        yield module
    else:
        for child in module.children():
            yield from _supported(child, seen)


def _has_converter(found: type[nn.Module]) -> bool:
    for base in found.__mro__:
        for host in HOSTS.get(base.__module__.partition(".")[0], ()):
            importlib.import_module(host)
    if found in CONVERTERS:
        return True
    for base in found.__mro__:
        if base in CONVERTERS:
            raise TypeError(
                f"model: found {found.__name__}, derived from {base.__name__}, allowed {base.__name__} itself; if its "
                "forward hands the memory on, register it with wavy.converter"
            )
    return False


def _set_modes(model: nn.Module) -> None:
    """Give the new residuals the mode, training or eval, of the modules that hold them."""
    for module in model.modules():
        for child in module.children():
            if isinstance(child, Residual):
                child.train(module.training)
