"""Another residual for a model that exists, for instance a pretrained one: its weights are kept and shared."""

from __future__ import annotations

import copy
import importlib
from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor, nn

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
    "timm": ("wavy.hosts.vit",),
    "transformers": ("wavy.hosts.bert", "wavy.hosts.gpt2"),
}

SUPPORTED = (
    "timm's VisionTransformer and Cait, transformers' Bert and GPT2 models, torch.nn.TransformerEncoder, wavy's own "
    "models"
)


def converter(*classes: type[nn.Module]) -> Callable[[Converter], Converter]:
    """Register a function ``(model, options) -> None`` that gives an instance of exactly these classes new residuals.

    It is called with a copy that shares the parameters and may change it as it likes; ``options.build(dim, like)``
    makes the residual of one layer. The blocks must hand the memory on from one to the next (see
    :class:`wavy.residual.Residual`).
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

    Parameters and buffers are those of the original, the very same tensors: training the one trains the other. New
    are the parameters theta of the kinds that have a lambda. With a very negative ``theta_init`` (say -30) ``light``,
    ``mix_full`` and ``mix_light`` start with the outputs of the original, so that fine-tuning begins where it left off.

    Args:
        model: one of the supported models, or a module that holds some, each of which is converted: timm's
            ``VisionTransformer`` and ``Cait``, transformers' Bert and GPT2 models, ``torch.nn.TransformerEncoder``, and
            wavy's own.
        residual: one of :data:`wavy.dynamics.KINDS`.
        tau: step size; ``None`` for the host's own: 1/2, or that of a DIFFormer.
        theta_init: start value of theta.
        form: one of :data:`wavy.residual.FORMS`; ``None`` for the host's own: ``stock``, or ``euler`` for a DIFFormer.

    Raises:
        ValueError: an argument out of its range, or blocks that are not the host's own.
        TypeError: no supported model found.
    """
    check_residual(1, residual, 0.5 if tau is None else tau, theta_init, form or "stock")
    options = ResidualOptions(residual, tau, theta_init, form)
    copied = _sharing_copy(model)
    if not _convert(copied, options):
        raise TypeError(
            f"model: found {type(model).__name__}, allowed {SUPPORTED}, or a module that holds one of them; for "
            "blocks of your own call wavy.Residual in them: (x, memory) -> (x, memory), and register their model's "
            "class with wavy.hosts.conversion.converter"
        )
    return copied


def _sharing_copy(model: nn.Module) -> nn.Module:
    shared = {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())}
    return copy.deepcopy(model, shared)


def _convert(module: nn.Module, options: ResidualOptions) -> int:
    """Convert the outermost supported modules; how many there were."""
    for host in HOSTS.get(type(module).__module__.partition(".")[0], ()):
        importlib.import_module(host)
    if convert := CONVERTERS.get(type(module)):
        convert(module, options)
        return 1
    return sum(_convert(child, options) for child in module.children())
