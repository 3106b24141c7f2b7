"""timm's CaiT with any residual kind.

After importing this module, ``timm.create_model("wavy_cait_xxs24_224", residual="light", tau=0.5)`` builds timm's own
model with wavy blocks, as :mod:`wavy.hosts.vit` does. The class attention at its end stays timm's own: it only reads
the patch tokens. New parameters are ``blocks.i.residual.theta``, ``blocks.i.featscale.lamb1`` and ``lamb2``, and
``blocks.i.attn.attn_drop.lamb``.
"""

from __future__ import annotations

import torch
from timm.models.cait import Cait, LayerScaleBlock, TalkingHeadAttn
from torch import Tensor, nn

from wavy.hosts.conversion import ResidualOptions, converter
from wavy.hosts.scales import scale_heads
from wavy.hosts.timm_block import WavyTimmBlock
from wavy.hosts.timm_model import WavyTimmModel, convert_model
from wavy.hosts.timm_registry import register_wavy

#: The timm models that are registered with the prefix ``wavy_``.
NAMES = (
    *(f"cait_{size}_{pixels}" for size in ("xxs24", "xxs36") for pixels in (224, 384)),
    "cait_xs24_384",
    *("cait_s24_224", "cait_s24_384", "cait_s36_384"),
    *("cait_m36_384", "cait_m48_448"),
)


class ScaledDropout(nn.Dropout):
    """Dropout of the attention matrix with AttnScale before it.

    CaiT's heads talk: A is the matrix after ``proj_w``, the one that meets the values. All its rows sum to one s, but
    s is not 1, so s J/N stands for J/N: the mean of each row. A keeps its row sums, as after a softmax.

    Args:
        p: probability.
        heads: H.

    Shapes:
        attention: (B, H, N, N).

    Source: AttnScale (Wang et al., ICLR 2022); its place in talking heads is our choice.
    """

    def __init__(self, p: float, heads: int) -> None:
        super().__init__(p)
        self.lamb = nn.Parameter(torch.empty(heads))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Start as dropout alone."""
        nn.init.zeros_(self.lamb)

    def forward(self, attention: Tensor) -> Tensor:
        """The scaled matrix, some of its entries dropped."""
        return super().forward(scale_heads(attention, attention.mean(dim=-1, keepdim=True), self.lamb))


class WavyCaitBlock(WavyTimmBlock, LayerScaleBlock):
    """timm's ``LayerScaleBlock`` with a residual of any kind; see :class:`wavy.hosts.timm_block.WavyTimmBlock`."""

    def scale_attention(self) -> None:
        """Add AttnScale."""
        if type(self.attn) is not TalkingHeadAttn:
            raise ValueError(f"attnscale: found {type(self.attn).__name__}, allowed timm's TalkingHeadAttn")
        self.attn.attn_drop = ScaledDropout(self.attn.attn_drop.p, self.attn.num_heads).to(self.attn.proj.weight)

    def _branches(self) -> list[tuple[Tensor, nn.Module]]:
        return [(self.gamma_1, self.drop_path), (self.gamma_2, self.drop_path)]


class WavyCait(WavyTimmModel, Cait):
    """timm's ``Cait`` of wavy blocks; made by the registered functions, see the module."""

    stock = Cait


CLASSES = {Cait: WavyCait}


@converter(Cait, WavyCait)
def _convert(model: Cait, options: ResidualOptions) -> None:
    convert_model(model, options, LayerScaleBlock, WavyCaitBlock, CLASSES)


register_wavy(__name__, NAMES, "block_layers", WavyCaitBlock, CLASSES)
