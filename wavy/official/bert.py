"""The published BERT in its three residual types, with its own names, step rules and epsilons."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wavy.checks import check_choice, check_divisor, check_whole
from wavy.official.joint import JointLN, joint_mlp
from wavy.official.ranges import check_positive

RESIDUAL_TYPES = ("diffuse", "wave", "mix")


@dataclass
class BertOutput:
    """``logits`` (B, labels); with ``output_hidden_states`` the states (embeddings first) and velocities, else None.

    ``velocities`` hold one entry a layer, ``None`` where the layer has none. ``attentions``: (B, heads, N, N) a layer.
    """

    logits: Tensor
    hidden_states: tuple[Tensor, ...] | None = None
    velocities: tuple[Tensor | None, ...] | None = None
    attentions: tuple[Tensor, ...] | None = None


class _Embeddings(nn.Module):
    def __init__(self, vocab: int, positions: int, dim: int) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(vocab, dim)
        self.position_embeddings = nn.Embedding(positions, dim)
        self.token_type_embeddings = nn.Embedding(2, dim)
        self.LayerNorm = nn.LayerNorm(dim, eps=1e-6)

    def forward(self, ids: Tensor, types: Tensor) -> Tensor:
        positions = self.position_embeddings.weight[: ids.shape[1]]
        return self.LayerNorm(self.word_embeddings(ids) + positions + self.token_type_embeddings(types))


class _SelfAttention(nn.Module):
    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(dim, dim) for _ in range(3))

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        query, key, value = (
            f(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for f in (self.query, self.key, self.value)
        )
        scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
        # The padding's -1e9 ends at -1000 as well: that is what the published code computes.
        scores = (scores + (1 - mask[:, None, None, :].to(x.dtype)) * -1e9).clamp(-1000, 1000)
        weights = scores.softmax(dim=-1)
        return (weights @ value).transpose(1, 2).flatten(2), weights


class _Dense(nn.Module):
    """A linear layer and, where given, the norm that follows, under the published names."""

    def __init__(self, into: int, out: int, **norm: nn.Module) -> None:
        super().__init__()
        self.dense = nn.Linear(into, out)
        for name, module in norm.items():
            self.add_module(name, module)


class _Attention(nn.Module):
    def __init__(self, dim: int, heads: int, residual_type: str, tau: float) -> None:
        super().__init__()
        self.residual_type, self.tau = residual_type, tau
        if residual_type == "mix":
            self.beta = nn.Parameter(torch.zeros(()))
        self.self = _SelfAttention(dim, heads)
        norm = nn.LayerNorm(dim, eps=1e-5) if residual_type == "diffuse" else JointLN(dim, 1e-12)
        self.output = _Dense(dim, dim, LayerNorm=norm)

    def forward(self, x: Tensor, velocity: Tensor | None, mask: Tensor) -> tuple[Tensor, Tensor | None, Tensor]:
        context, weights = self.self(x, mask)
        attended = self.output.dense(context)
        if self.residual_type == "diffuse":
            return self.output.LayerNorm(x + self.tau * attended), None, weights
        force = attended - x
        velocity = velocity + self.tau * force
        if self.residual_type == "mix":
            share = torch.sigmoid(self.beta)
            velocity = share * velocity + (1 - share) * force
        return *self.output.LayerNorm(x + self.tau * velocity, velocity), weights


class _Layer(nn.Module):
    def __init__(self, dim: int, heads: int, mlp: int, residual_type: str, tau: float, joint: bool) -> None:
        super().__init__()
        self.joint = joint
        self.attention = _Attention(dim, heads, residual_type, tau)
        if joint:
            self.intermediate_joint = _Dense(dim, mlp)
            self.output_joint = _Dense(mlp, dim, joint_layer_norm=JointLN(dim, 1e-12))
        else:
            self.intermediate = _Dense(dim, mlp)
            self.output = _Dense(mlp, dim, LayerNorm=nn.LayerNorm(dim, eps=1e-12))

    def forward(self, x: Tensor, velocity: Tensor | None, mask: Tensor) -> tuple[Tensor, Tensor | None, Tensor]:
        x, velocity, weights = self.attention(x, velocity, mask)
        if not self.joint:
            hidden = F.gelu(self.intermediate.dense(x))
            return self.output.LayerNorm(self.output.dense(hidden) + x), None, weights
        dx, dv = joint_mlp(x, velocity, self.intermediate_joint.dense, self.output_joint.dense)
        return *self.output_joint.joint_layer_norm(x + dx, velocity + dv), weights


class _Encoder(nn.Module):
    """Embeddings, layers and pooler; all that the published checkpoints hold."""

    def __init__(self, vocab: int, positions: int, dim: int, layers: int, **layer: object) -> None:
        super().__init__()
        self.embeddings = _Embeddings(vocab, positions, dim)
        # The last layer has no velocity mlp: nothing would read its velocity.
        wavy = layer["residual_type"] != "diffuse"
        stack = [_Layer(dim, joint=wavy and index < layers - 1, **layer) for index in range(layers)]
        self.encoder = nn.Module()
        self.encoder.layer = nn.ModuleList(stack)
        self.pooler = _Dense(dim, dim)


class PublishedBert(nn.Module):
    """The published BERT classifier; built by :func:`build`."""

    def __init__(self, encoder: _Encoder, dim: int, labels: int) -> None:
        super().__init__()
        self.bert, self.classifier = encoder, nn.Linear(dim, labels)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        output_hidden_states: bool = False,
        output_attentions: bool = False,
    ) -> BertOutput:
        """Logits for token ids (B, N); the mask is 1 for tokens and 0 for padding.

        Raises:
            ValueError: ids of another shape, or more tokens than positions.
        """
        longest = self.bert.embeddings.position_embeddings.num_embeddings
        if input_ids.dim() != 2 or input_ids.shape[1] > longest:
            found = tuple(input_ids.shape)
            raise ValueError(f"input_ids: found {found}, allowed (B, N) with N <= max_position_embeddings = {longest}")
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        types = torch.zeros_like(input_ids) if token_type_ids is None else token_type_ids
        x = self.bert.embeddings(input_ids, types)
        velocity = torch.zeros_like(x)
        states, velocities, attentions = [x], [], []
        for layer in self.bert.encoder.layer:
            x, velocity, weights = layer(x, velocity, mask)
            states.append(x)
            velocities.append(velocity)
            attentions.append(weights)
        logits = self.classifier(torch.tanh(self.bert.pooler.dense(x[:, 0])))
        output = BertOutput(logits)
        if output_hidden_states:
            output.hidden_states, output.velocities = tuple(states), tuple(velocities)
        if output_attentions:
            output.attentions = tuple(attentions)
        return output


def build(
    *,
    vocab_size: int,
    hidden_size: int,
    num_hidden_layers: int,
    num_attention_heads: int,
    intermediate_size: int,
    max_position_embeddings: int,
    residual_type: str = "diffuse",
    tau: float = 1.0,
    num_labels: int = 2,
) -> PublishedBert:
    """An empty BERT classifier from the hyper-parameters of the published code.

    The types, with D = Attn(X) - X and a = sigmoid(beta), one number a layer:

    - ``diffuse``: X' = X + tau Attn(X), which is not equation (D);
    - ``wave``: V' = V + tau D, X' = X + tau V';
    - ``mix``: V' = a (V + tau D) + (1 - a) D, X' = X + tau V': velocities are mixed, where the paper mixes states.

    Returns:
        The model with freshly drawn weights, in training mode; it has no dropout.

    Raises:
        ValueError: an unknown residual type, a width or tau out of its range, or heads that do not divide hidden_size.

    Source: published code of Wavy Transformer.
    """
    for name in ("vocab_size", "hidden_size", "num_hidden_layers", "intermediate_size", "max_position_embeddings"):
        check_whole(name, locals()[name])
    check_whole("num_labels", num_labels)
    check_choice("residual_type", residual_type, RESIDUAL_TYPES)
    check_positive("tau", tau)
    check_divisor("num_attention_heads", num_attention_heads, "hidden_size", hidden_size)
    encoder = _Encoder(
        vocab_size,
        max_position_embeddings,
        hidden_size,
        num_hidden_layers,
        heads=num_attention_heads,
        mlp=intermediate_size,
        residual_type=residual_type,
        tau=tau,
    )
    return PublishedBert(encoder, hidden_size, num_labels)
