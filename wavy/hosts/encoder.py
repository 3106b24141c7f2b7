"""torch.nn's transformer encoder with any residual kind.

Parameter names are torch's; a kind with a lambda adds ``layers.i.residual.theta``. A causal or a padding mask acts in
attention alone: it changes A, and A X is joined with X as ever. So state and memory of a token depend only on tokens
that it attends to, directly or over layers.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from wavy.checks import check_choice
from wavy.dynamics import KINDS
from wavy.hosts.conversion import ResidualOptions, converter
from wavy.hosts.last import mark_last
from wavy.hosts.pairs import activation_name, mlp_pair, norm_pair
from wavy.layers import Pair, shared_dropout
from wavy.residual import Residual


class WavyTransformerEncoderLayer(nn.TransformerEncoderLayer):
    """torch's encoder layer with a residual of any kind, as :class:`wavy.hosts.transformer.WavyBlock`.

    Between the layers of a :class:`WavyTransformerEncoder` travels the state or, where a kind has a memory, the pair
    (state, memory); the last layer hands on the state alone. Dropout in the mlp has one mask for a state and its
    velocity. A nested tensor, which torch's encoder makes of padded input in eval mode, stays one.

    Args:
        d_model: channels d.
        nhead: attention heads.
        *args: those of torch's layer.
        residual, tau, theta_init, form: see :class:`wavy.residual.Residual`.
        **kwargs: those of torch's layer. ``activation``: a velocity passes relu, gelu and silu, as a name (relu, gelu),
            function or module.

    Shapes:
        x, memory: (B, N, d) with ``batch_first``, else (N, B, d); or (N, d).

    Raises:
        ValueError: an argument out of its range, parts that a velocity cannot pass, or a mask for a nested tensor.
        RuntimeError: called outside a :class:`WavyTransformerEncoder` with a kind that has a memory.
    """

    #: Whether the layer hands on the state alone; ``None`` until an encoder decides.
    last: bool | None = None

    def __init__(
        self,
        d_model: int,
        nhead: int,
        *args: object,
        residual: str = "diffusion",
        tau: float = 0.5,
        theta_init: float = 0.0,
        form: str = "stock",
        **kwargs: object,
    ) -> None:
        check_choice("residual", residual, KINDS)
        super().__init__(d_model, nhead, *args, **kwargs)
        self.set_residual(Residual(d_model, residual, tau, theta_init, form).to(self.linear2.weight))

    def set_residual(self, residual: Residual) -> None:
        """Take another residual.

        Raises:
            ValueError: the layer has parts that the residual's velocity cannot pass.
        """
        if residual.carries_velocity:
            activation_name(self.activation)
            for norm in (self.norm1, self.norm2):
                if not isinstance(norm, nn.LayerNorm):
                    raise ValueError(f"norm: found {type(norm).__name__}, allowed LayerNorm where a velocity passes")
        self.residual = residual

    def forward(
        self,
        src: Tensor | Pair,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor | Pair:
        """The next state, or state and memory."""
        _check_nested(src[0] if isinstance(src, tuple) else src, src_mask, src_key_padding_mask)
        own = self.residual
        if (own.kind, own.form, own.tau) == ("diffusion", "stock", 0.5):
            return super().forward(src, src_mask, src_key_padding_mask, is_causal)
        if self.last is None and own.kind != "diffusion":
            raise RuntimeError(
                "layer: found outside a WavyTransformerEncoder, which tells its last layer to hand on no memory; use "
                "that class in place of torch.nn.TransformerEncoder, or set the attribute last of each layer"
            )
        x, memory = src if isinstance(src, tuple) else (src, None)
        if x.is_nested:
            return self._forward_nested(x, memory)
        return self._forward_padded(x, memory, src_mask, src_key_padding_mask, is_causal)

    def _forward_padded(self, x: Tensor, memory: Tensor | None, *masks: object) -> Tensor | Pair:
        ax = self._sa_block(self.norm1(x) if self.norm_first else x, *masks)
        x, memory = self.residual(x, ax, memory)
        if self.residual.carries_velocity and not self.last:
            return self._rest_pair(x, memory)
        x = self._rest(x)
        return x if self.last or memory is None else (x, memory)

    def _forward_nested(self, x: Tensor, memory: Tensor | None) -> Tensor | Pair:
        # Attention outside torch's own fused layer takes no nested tensors.
        lengths = torch.tensor([len(row) for row in x.unbind()], device=x.device)
        x, memory = (None if part is None else part.to_padded_tensor(0.0) for part in (x, memory))
        padding = torch.arange(x.shape[1], device=x.device) >= lengths[:, None]
        out = self._forward_padded(x, memory, None, padding, False)
        return tuple(_nested(part, lengths) for part in out) if isinstance(out, tuple) else _nested(out, lengths)

    def _rest(self, x: Tensor) -> Tensor:
        """What follows the residual, for a state alone."""
        if self.norm_first:
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(x)
        return self.norm2(x + self._ff_block(x))

    def _rest_pair(self, x: Tensor, velocity: Tensor) -> Pair:
        """What follows the residual, for a state and its velocity."""
        if self.norm_first:
            dx, dv = self._mlp_pair(*norm_pair(self.norm2, x, velocity))
            return x + dx, velocity + dv
        x, velocity = norm_pair(self.norm1, x, velocity)
        dx, dv = self._mlp_pair(x, velocity)
        return norm_pair(self.norm2, x + dx, velocity + dv)

    def _mlp_pair(self, x: Tensor, velocity: Tensor) -> Pair:
        """FFN of the state and FFN_v of the velocity, with shared dropout masks."""
        first, second = self.linear1, self.linear2
        pair = mlp_pair(x, velocity, first, activation_name(self.activation), second, self.dropout)
        return shared_dropout(*pair, self.dropout2.p, self.dropout2.training)


class WavyTransformerEncoder(nn.TransformerEncoder):
    """torch's ``TransformerEncoder`` of wavy layers, which alone know nothing of the last one.

    Args:
        encoder_layer: the layer to copy.
        num_layers: L.
        *args: those of torch's encoder.
        **kwargs: those of torch's encoder.

    Raises:
        TypeError: ``encoder_layer`` is no wavy layer.
    """

    def __init__(
        self, encoder_layer: WavyTransformerEncoderLayer, num_layers: int, *args: object, **kwargs: object
    ) -> None:
        if not isinstance(encoder_layer, WavyTransformerEncoderLayer):
            raise TypeError(
                f"encoder_layer: found {type(encoder_layer).__name__}, allowed WavyTransformerEncoderLayer, or "
                "wavy.wavify(encoder) for an encoder that exists"
            )
        super().__init__(encoder_layer, num_layers, *args, **kwargs)
        mark_last(self.layers)

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """The states after the last layer; the arguments are those of torch's encoder."""
        _check_nested(src, mask, src_key_padding_mask)
        mark_last(self.layers)
        return super().forward(src, mask, src_key_padding_mask, is_causal)


def convert_layers(layers: nn.ModuleList, options: ResidualOptions) -> None:
    """Give torch's encoder layers, called one after the other by any model, new residuals, in place.

    Raises:
        ValueError: layers of another class, or with parts that a velocity cannot pass.
    """
    for layer in layers:
        if type(layer) not in (nn.TransformerEncoderLayer, WavyTransformerEncoderLayer):
            raise ValueError(f"model: found layers of class {type(layer).__name__}, allowed TransformerEncoderLayer")
        layer.__class__ = WavyTransformerEncoderLayer
        old = getattr(layer, "residual", None)
        own = {} if old is None else {"tau": old.tau, "form": old.form}
        layer.set_residual(options.build(layer.self_attn.embed_dim, like=layer.linear2.weight, **own))
    mark_last(layers)


@converter(nn.TransformerEncoder, WavyTransformerEncoder)
def convert(model: nn.TransformerEncoder, options: ResidualOptions) -> None:
    """Give an encoder new residuals, in place; a class derived from torch's stays."""
    convert_layers(model.layers, options)
    if type(model) is nn.TransformerEncoder:
        model.__class__ = WavyTransformerEncoder


def _check_nested(src: Tensor, mask: Tensor | None, padding: Tensor | None) -> None:
    if src.is_nested:
        for name, found in (("mask", mask), ("src_key_padding_mask", padding)):
            if found is not None:
                raise ValueError(
                    f"{name}: found one for a nested tensor, allowed None, since its rows have their lengths"
                )


def _nested(padded: Tensor, lengths: Tensor) -> Tensor:
    return torch.nested.as_nested_tensor([row[:length] for row, length in zip(padded, lengths, strict=True)])
