"""A language model of transformers' with any residual kind: its config and its conversion, for Bert and GPT-2 alike."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn
from transformers import AutoConfig, PreTrainedConfig, PreTrainedModel

from wavy.checks import check_choice
from wavy.dynamics import KINDS
from wavy.hosts.conversion import ResidualOptions, converter
from wavy.hosts.last import mark_last
from wavy.hosts.transformers_layers import ACTIVATION_NAMES, WavyLayer
from wavy.residual import Residual, check_residual

#: Stock class, and wavy class, of a model -> its wavy class; filled by :func:`register`.
WAVY_CLASSES: dict[type[PreTrainedModel], type[PreTrainedModel]] = {}


@dataclass(kw_only=True)
class ResidualConfig:
    """The fields that a wavy config has beside those of the stock one.

    They are checked when a config is made, and again when a model is: ``from_pretrained`` sets its keyword arguments
    in between.

    Args:
        residual: one of :data:`wavy.dynamics.KINDS`.
        tau: step size, 0 < tau < 1 (form ``stock``) or 0 < tau <= 1.
        theta_init: start value of theta; very negative starts at the stock model.
        form: one of :data:`wavy.residual.FORMS`.

    Raises:
        ValueError: a field out of its range.
    """

    residual: str = "diffusion"
    tau: float = 0.5
    theta_init: float = 0.0
    form: str = "stock"

    def __post_init__(self, **kwargs: object) -> None:
        self.check()
        super().__post_init__(**kwargs)

    def check(self) -> None:
        """Raise ValueError, one line that names the first of the four fields that is out of its range."""
        check_choice("residual", self.residual, KINDS)
        check_residual(1, self.residual, self.tau, self.theta_init, self.form)


class WavyPreTrained:
    """What a wavy model does beside its stock class; the first of its bases.

    The library builds the model; then it is converted in place, as :func:`~wavy.hosts.conversion.wavify` converts
    one that exists. A class of yours with a head of its own is written as the library's are, on
    ``WavyBertPreTrainedModel``.

    What a user may stumble on:

    - A stock checkpoint loads with the library's warning about another model type. Only theta is missing.
    - Options given to ``from_pretrained`` go before those of the file, but a theta in the file is kept.
    - ``output_hidden_states`` are states, never memories. As in the stock models the last one is the model's output,
      for GPT-2 after its final LayerNorm.
    - The library's ``Trainer`` applies ``weight_decay`` to theta too, which draws lambda to 1/2.
    - Weights offloaded by ``device_map`` to disk or another device cannot serve ``full`` and ``mix_full``, whose
      velocity reads them outside of their modules.

    Attributes:
        layer_classes: the stock layer and the wavy one.
        activation_field: the config's field that names the mlp's activation.
    """

    layer_classes: tuple[type[nn.Module], type[WavyLayer]]
    activation_field: str

    def __init__(self, config: PreTrainedConfig, *args: object, **kwargs: object) -> None:
        if not isinstance(config, self.config_class):
            raise ValueError(f"config: found {type(config).__name__}, allowed {self.config_class.__name__}")
        config.check()
        super().__init__(config, *args, **kwargs)

    def post_init(self) -> None:
        """What the library's constructors call last, also in a class of yours with a head of its own."""
        self.add_residuals()
        super().post_init()

    @classmethod
    def is_custom_code(cls) -> bool:
        """False: the library takes all classes of others for custom code, and initialises only a part of those.

        It would leave out modules without parameters of their own, such as GPT-2's mlp with its scaled weights.
        """
        return False

    def layers(self) -> nn.ModuleList:
        """The model's layers, in order."""
        raise NotImplementedError

    def mark_last(self) -> None:
        """Let the last layer, and no other, hand on the state alone; see :func:`wavy.hosts.last.mark_last`."""
        mark_last(self.layers())

    def __call__(self, *args: object, **kwargs: object) -> object:
        # Not in forward, whose signature the library inspects.
        self.mark_last()
        return super().__call__(*args, **kwargs)

    def add_residuals(self) -> None:
        """Make the base model and its layers wavy, in place, with new residuals as the config says.

        Raises:
            ValueError: parts that are not the library's own, or an activation without FFN_v.
        """
        base, config = self.base_model, self.config
        if not isinstance(base, WavyPreTrained):
            if type(base) not in WAVY_CLASSES:
                raise ValueError(f"model: found {type(base).__name__} within, allowed transformers' own class")
            base.__class__ = WAVY_CLASSES[type(base)]
        for model in {self, base}:
            model._no_split_modules = set(type(model)._no_split_modules)
            # The library notes which outputs a class can record when it constructs an instance of it.
            PreTrainedModel.__init__(type(model).__new__(type(model)), config)
        options = ResidualOptions(config.residual, config.tau, config.theta_init, config.form)
        for layer in self.layers():
            _check_layer(layer, self.layer_classes)
            layer.__class__ = self.layer_classes[1]
            norm = next(module for module in layer.modules() if isinstance(module, nn.LayerNorm))
            layer.residual = options.build(config.hidden_size, like=norm.weight)
            self._check_activation(layer.residual)
            layer.check_parts()
        self.mark_last()

    def _check_activation(self, residual: Residual) -> None:
        name = getattr(self.config, self.activation_field)
        if residual.carries_velocity and isinstance(name, str) and name not in ACTIVATION_NAMES:
            allowed = ", ".join(ACTIVATION_NAMES)
            raise ValueError(
                f"{self.activation_field}: found {name!r}, allowed {allowed} with residual {residual.kind}"
            )

    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if isinstance(module, Residual):
            module.reset_parameters()


def register(config_class: type[PreTrainedConfig], *rows: tuple) -> None:
    """Make a host known to the Auto classes and to :func:`wavy.hosts.conversion.wavify`.

    Args:
        config_class: the wavy config.
        *rows: stock class, wavy class, and the Auto classes that build it.
    """
    AutoConfig.register(config_class.model_type, config_class, exist_ok=True)
    for stock, wavy, *autos in rows:
        WAVY_CLASSES.update({stock: wavy, wavy: wavy})
        converter(stock, wavy)(_convert)
        for auto in autos:
            auto.register(config_class, wavy, exist_ok=True)


def _convert(model: PreTrainedModel, options: ResidualOptions) -> None:
    model.__class__, config = WAVY_CLASSES[type(model)], model.config
    # All parts of the model hold this very object, and attention reads its backend from it.
    config.__class__ = model.config_class
    config.residual, config.theta_init = options.residual, options.theta_init
    config.tau = config.tau if options.tau is None else options.tau
    config.form = config.form if options.form is None else options.form
    config.check()
    model.add_residuals()


def _check_layer(layer: nn.Module, allowed: tuple[type[nn.Module], ...]) -> None:
    if type(layer) not in allowed:
        raise ValueError(f"model: found layers of class {type(layer).__name__}, allowed {allowed[0].__name__}")
    if "forward" in vars(layer):
        raise ValueError("model: found a layer whose forward was replaced, as by device_map, allowed the class's own")
