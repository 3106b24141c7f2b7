"""transformers' BERT with any residual kind.

After importing this module the Auto classes know ``wavy_bert``, and a stock checkpoint loads into any kind:
``WavyBertForMaskedLM.from_pretrained(folder, residual="light")``. Parameter names are the stock ones; a kind with a
lambda adds ``bert.encoder.layer.i.residual.theta``. What holds for all wavy language models is told in
:class:`wavy.hosts.transformers_models.WavyPreTrained`.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForMultipleChoice,
    AutoModelForNextSentencePrediction,
    AutoModelForPreTraining,
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    BertConfig,
    BertForMaskedLM,
    BertForMultipleChoice,
    BertForNextSentencePrediction,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertLMHeadModel,
    BertModel,
    BertPreTrainedModel,
)
from transformers.models.bert.modeling_bert import (
    BertAttention,
    BertIntermediate,
    BertLayer,
    BertOutput,
    BertSelfOutput,
)
from transformers.pytorch_utils import apply_chunking_to_forward

from wavy.hosts.pairs import mlp_pair
from wavy.hosts.transformers_layers import WavyLayer, activation_name, check_part, normed
from wavy.hosts.transformers_models import ResidualConfig, WavyPreTrained, register
from wavy.layers import Pair, shared_dropout


class WavyBertConfig(ResidualConfig, BertConfig):
    """``BertConfig`` with the fields of :class:`wavy.hosts.transformers_models.ResidualConfig`."""

    model_type = "wavy_bert"


class WavyBertLayer(WavyLayer, BertLayer):
    """BERT's post-norm layer with a residual of any kind, as :class:`wavy.hosts.transformer.WavyBlock`.

    The sums after attention and mlp pass LayerNorm, a velocity as LN_v; it passes the mlp as FFN_v. Cross attention
    maps other tokens to these: its matrix has no Laplacian, so there is no wave in it. It keeps BERT's own residual,
    and a velocity passes only the LN_v that follows.

    Shapes:
        - **hidden_states, memory:** (B, N, d).
        - **encoder_hidden_states:** (B, M, d).

    Raises:
        ValueError: ``encoder_hidden_states`` for a decoder without cross attention, or replaced parts.
    """

    def check_parts(self) -> None:
        """Attention always, the mlp where a velocity passes it: they must be the library's own, without hooks."""
        for name in ("attention", "crossattention"):
            attention = getattr(self, name, None)
            if attention is not None:
                check_part(name, attention, BertAttention)
                check_part(f"{name}.output", attention.output, BertSelfOutput)
        if self.residual.carries_velocity:
            activation = self.intermediate.intermediate_act_fn
            check_part("intermediate", self.intermediate, BertIntermediate)
            check_part("output", self.output, BertOutput)
            activation_name(activation)
            if isinstance(activation, nn.Module):
                check_part("activation", activation, type(activation))

    def forward(
        self,
        hidden_states: Tensor,
        memory: Tensor | None = None,
        attention_mask: Tensor | None = None,
        encoder_hidden_states: Tensor | None = None,
        encoder_attention_mask: Tensor | None = None,
        **kwargs: object,
    ) -> Tensor | Pair:
        """The next state, or state and memory; ``kwargs`` hold the cache, by the name of the library's version."""
        self.check_parts()
        if hidden_states.shape[0] == 0:
            return self.hand_on(hidden_states, memory)
        ax = _attend(self.attention, hidden_states, attention_mask=attention_mask, **kwargs)
        x, memory = self.residual(hidden_states, ax, memory)
        x, velocity = normed(self.attention.output.LayerNorm, x, self.velocity(memory))
        if self.is_decoder and encoder_hidden_states is not None:
            cross = self.cross()
            other = {"encoder_hidden_states": encoder_hidden_states, "attention_mask": encoder_attention_mask}
            x, velocity = normed(cross.output.LayerNorm, x + _attend(cross, x, **other, **kwargs), velocity)
        x, velocity = self._feed_forward(x, velocity)
        return self.hand_on(x, memory if velocity is None else velocity)

    def _feed_forward(self, x: Tensor, velocity: Tensor | None) -> Pair:
        chunk = self.chunk_size_feed_forward
        if velocity is None:
            return apply_chunking_to_forward(self.feed_forward_chunk, chunk, self.seq_len_dim, x), None
        if not chunk:
            return self._feed_forward_pair(x, velocity)
        parts = zip(x.split(chunk, dim=1), velocity.split(chunk, dim=1), strict=True)
        states, velocities = zip(*(self._feed_forward_pair(*part) for part in parts), strict=True)
        return torch.cat(states, dim=1), torch.cat(velocities, dim=1)

    def _feed_forward_pair(self, x: Tensor, velocity: Tensor) -> Pair:
        first, second = self.intermediate.dense, self.output.dense
        activation, dropout = activation_name(self.intermediate.intermediate_act_fn), self.output.dropout
        pair = mlp_pair(x, velocity, first, activation, second)
        dx, dv = shared_dropout(*pair, dropout.p, dropout.training)
        return normed(self.output.LayerNorm, x + dx, velocity + dv)


def _attend(attention: BertAttention, x: Tensor, **kwargs: object) -> Tensor:
    """What the attention adds to the state: A X, before the residual and the norm of ``attention.output``."""
    context, _ = attention.self(x, **kwargs)
    return attention.output.dropout(attention.output.dense(context))


class WavyBertPreTrainedModel(WavyPreTrained, BertPreTrainedModel):
    """Base of the wavy BERT models; see :class:`wavy.hosts.transformers_models.WavyPreTrained`."""

    config_class = WavyBertConfig
    layer_classes = (BertLayer, WavyBertLayer)
    activation_field = "hidden_act"
    _no_split_modules = ("BertEmbeddings", "WavyBertLayer")

    def layers(self) -> nn.ModuleList:
        """``encoder.layer``."""
        return self.base_model.encoder.layer


class WavyBertModel(WavyBertPreTrainedModel, BertModel):
    """``BertModel`` with any residual kind."""


class WavyBertForMaskedLM(WavyBertPreTrainedModel, BertForMaskedLM):
    """``BertForMaskedLM`` with any residual kind."""


class WavyBertForPreTraining(WavyBertPreTrainedModel, BertForPreTraining):
    """``BertForPreTraining`` with any residual kind."""


class WavyBertLMHeadModel(WavyBertPreTrainedModel, BertLMHeadModel):
    """``BertLMHeadModel``, BERT as a decoder, with any residual kind."""


class WavyBertForSequenceClassification(WavyBertPreTrainedModel, BertForSequenceClassification):
    """``BertForSequenceClassification`` with any residual kind."""


class WavyBertForQuestionAnswering(WavyBertPreTrainedModel, BertForQuestionAnswering):
    """``BertForQuestionAnswering`` with any residual kind."""


class WavyBertForTokenClassification(WavyBertPreTrainedModel, BertForTokenClassification):
    """``BertForTokenClassification`` with any residual kind."""


class WavyBertForMultipleChoice(WavyBertPreTrainedModel, BertForMultipleChoice):
    """``BertForMultipleChoice`` with any residual kind."""


class WavyBertForNextSentencePrediction(WavyBertPreTrainedModel, BertForNextSentencePrediction):
    """``BertForNextSentencePrediction`` with any residual kind."""


register(
    WavyBertConfig,
    (BertModel, WavyBertModel, AutoModel),
    (BertForMaskedLM, WavyBertForMaskedLM, AutoModelForMaskedLM),
    (BertForPreTraining, WavyBertForPreTraining, AutoModelForPreTraining),
    (BertLMHeadModel, WavyBertLMHeadModel, AutoModelForCausalLM),
    (BertForSequenceClassification, WavyBertForSequenceClassification, AutoModelForSequenceClassification),
    (BertForQuestionAnswering, WavyBertForQuestionAnswering, AutoModelForQuestionAnswering),
    (BertForTokenClassification, WavyBertForTokenClassification, AutoModelForTokenClassification),
    (BertForMultipleChoice, WavyBertForMultipleChoice, AutoModelForMultipleChoice),
    (BertForNextSentencePrediction, WavyBertForNextSentencePrediction, AutoModelForNextSentencePrediction),
)
