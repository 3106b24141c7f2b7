"""transformers' GPT-2 with any residual kind.

After importing this module the Auto classes know ``wavy_gpt2``, and a stock checkpoint loads into any kind:
``WavyGPT2LMHeadModel.from_pretrained(folder, residual="light")``. Parameter names are the stock ones; a kind with a
lambda adds ``transformer.h.i.residual.theta``. What holds for all wavy language models is told in
:class:`wavy.hosts.transformers_models.WavyPreTrained`.
"""

from __future__ import annotations

from torch import Tensor, nn
from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForPreTraining,
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    GPT2Config,
    GPT2DoubleHeadsModel,
    GPT2ForQuestionAnswering,
    GPT2ForSequenceClassification,
    GPT2ForTokenClassification,
    GPT2LMHeadModel,
    GPT2Model,
    GPT2PreTrainedModel,
)
from transformers.models.gpt2.modeling_gpt2 import GPT2MLP, GPT2Block

from wavy.hosts.pairs import mlp_pair
from wavy.hosts.transformers_layers import WavyLayer, activation_name, check_part, normed
from wavy.hosts.transformers_models import ResidualConfig, WavyPreTrained, register
from wavy.layers import Pair, shared_dropout


class WavyGPT2Config(ResidualConfig, GPT2Config):
    """``GPT2Config`` with the fields of :class:`wavy.hosts.transformers_models.ResidualConfig`."""

    model_type = "wavy_gpt2"


class WavyGPT2Block(WavyLayer, GPT2Block):
    """GPT-2's pre-norm block with a residual of any kind, as :class:`wavy.hosts.transformer.WavyBlock`.

    The memory belongs to a token and runs along the depth, so a cache of keys and values needs nothing more. Cross
    attention maps other tokens to these: its matrix has no Laplacian, so there is no wave in it. It keeps GPT-2's own
    residual, and a velocity passes it unchanged.

    Shapes:
        - **hidden_states, memory:** (B, N, d).
        - **encoder_hidden_states:** (B, M, d).

    Raises:
        ValueError: ``encoder_hidden_states`` for a model without cross attention, or replaced parts.
    """

    def check_parts(self) -> None:
        """Where a velocity passes the mlp, it must be the library's own, without hooks."""
        if self.residual.carries_velocity:
            check_part("mlp", self.mlp, GPT2MLP)
            activation_name(self.mlp.act)
            check_part("mlp.act", self.mlp.act, type(self.mlp.act))

    def forward(
        self,
        hidden_states: Tensor,
        memory: Tensor | None = None,
        cache: object = None,
        attention_mask: Tensor | None = None,
        encoder_hidden_states: Tensor | None = None,
        encoder_attention_mask: Tensor | None = None,
        **kwargs: object,
    ) -> Tensor | Pair:
        """The next state, or state and memory."""
        self.check_parts()
        if hidden_states.shape[0] == 0:
            return self.hand_on(hidden_states, memory)
        # The cache by its place: its name differs between versions of the library.
        ax, _ = self.attn(self.ln_1(hidden_states), cache, attention_mask, **kwargs)
        x, memory = self.residual(hidden_states, ax, memory)
        if encoder_hidden_states is not None:
            cross, other = self.cross(), (encoder_hidden_states, encoder_attention_mask)
            x = x + cross(self.ln_cross_attn(x), cache, attention_mask, *other)[0]
        velocity = self.velocity(memory)
        if velocity is None:
            return self.hand_on(x + self.mlp(self.ln_2(x)), memory)
        x_normed, velocity_normed = normed(self.ln_2, x, velocity)
        first, second = self.mlp.c_fc, self.mlp.c_proj
        pair = mlp_pair(x_normed, velocity_normed, first, activation_name(self.mlp.act), second)
        dx, dv = shared_dropout(*pair, self.mlp.dropout.p, self.mlp.dropout.training)
        return self.hand_on(x + dx, velocity + dv)


class WavyGPT2PreTrainedModel(WavyPreTrained, GPT2PreTrainedModel):
    """Base of the wavy GPT-2 models; see :class:`wavy.hosts.transformers_models.WavyPreTrained`."""

    config_class = WavyGPT2Config
    layer_classes = (GPT2Block, WavyGPT2Block)
    activation_field = "activation_function"
    _no_split_modules = ("WavyGPT2Block",)

    def layers(self) -> nn.ModuleList:
        """``h``."""
        return self.base_model.h


class WavyGPT2Model(WavyGPT2PreTrainedModel, GPT2Model):
    """``GPT2Model`` with any residual kind."""


class WavyGPT2LMHeadModel(WavyGPT2PreTrainedModel, GPT2LMHeadModel):
    """``GPT2LMHeadModel`` with any residual kind."""


class WavyGPT2DoubleHeadsModel(WavyGPT2PreTrainedModel, GPT2DoubleHeadsModel):
    """``GPT2DoubleHeadsModel`` with any residual kind."""


class WavyGPT2ForSequenceClassification(WavyGPT2PreTrainedModel, GPT2ForSequenceClassification):
    """``GPT2ForSequenceClassification`` with any residual kind."""


class WavyGPT2ForTokenClassification(WavyGPT2PreTrainedModel, GPT2ForTokenClassification):
    """``GPT2ForTokenClassification`` with any residual kind."""


class WavyGPT2ForQuestionAnswering(WavyGPT2PreTrainedModel, GPT2ForQuestionAnswering):
    """``GPT2ForQuestionAnswering`` with any residual kind."""


register(
    WavyGPT2Config,
    (GPT2Model, WavyGPT2Model, AutoModel),
    (GPT2LMHeadModel, WavyGPT2LMHeadModel, AutoModelForCausalLM, AutoModelForPreTraining),
    (GPT2DoubleHeadsModel, WavyGPT2DoubleHeadsModel),
    (GPT2ForSequenceClassification, WavyGPT2ForSequenceClassification, AutoModelForSequenceClassification),
    (GPT2ForTokenClassification, WavyGPT2ForTokenClassification, AutoModelForTokenClassification),
    (GPT2ForQuestionAnswering, WavyGPT2ForQuestionAnswering, AutoModelForQuestionAnswering),
)
