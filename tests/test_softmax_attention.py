"""Softmax attention: rows of weights, equality with PyTorch's own, no preferred token, and clear refusals."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import multi_head_attention_forward

from systems import normal, seeds
from wavy.hosts.softmax_attention import SoftmaxAttention

EXACT = 1e-12
#: Channels and heads that divide them.
widths = st.sampled_from([(1, 1), (4, 1), (4, 2), (6, 3), (8, 8)])
values = st.booleans()


def attention_of(seed: int, width: tuple[int, int], use_value: bool = True) -> SoftmaxAttention:
    """Double precision, with weights large enough that no two tokens are weighed alike."""
    attention = SoftmaxAttention(*width, use_value=use_value).double()
    with torch.no_grad():
        for number, parameter in enumerate(attention.parameters()):
            parameter.copy_(normal(seed + number, *parameter.shape))
    return attention


def state(seed: int, width: tuple[int, int], tokens: int = 7) -> torch.Tensor:
    return normal(seed + 100, 2, tokens, width[0])


@pytest.mark.equation("eq-attention")
@given(seeds, widths, values)
def test_each_row_of_each_head_holds_positive_weights_with_sum_one(seed, width, use_value):
    a = attention_of(seed, width, use_value).matrix(state(seed, width))
    assert a.shape == (2, width[1], 7, 7)
    assert (a >= 0).all()
    assert torch.allclose(a.sum(dim=-1), torch.ones(2, width[1], 7).double(), rtol=0, atol=EXACT)


@pytest.mark.equation("eq-attention")
@given(seeds, widths)
def test_equals_the_multi_head_attention_of_torch(seed, width):
    attention, x = attention_of(seed, width), state(seed, width)
    linears = (attention.query, attention.key, attention.value)
    expected, weights = multi_head_attention_forward(
        *(x.transpose(0, 1) for _ in range(3)),
        embed_dim_to_check=width[0],
        num_heads=width[1],
        in_proj_weight=torch.cat([linear.weight for linear in linears]),
        in_proj_bias=torch.cat([linear.bias for linear in linears]),
        bias_k=None,
        bias_v=None,
        add_zero_attn=False,
        dropout_p=0.0,
        out_proj_weight=attention.out.weight,
        out_proj_bias=attention.out.bias,
        average_attn_weights=False,
    )
    assert torch.allclose(attention(x), expected.transpose(0, 1), rtol=EXACT, atol=EXACT)
    assert torch.allclose(attention.matrix(x), weights, rtol=EXACT, atol=EXACT)


@pytest.mark.equation("eq-attention")
@given(seeds, widths)
def test_without_values_it_is_the_mean_of_the_heads_averages(seed, width):
    attention, x = attention_of(seed, width, use_value=False), state(seed, width)
    averages = [attention.matrix(x)[:, head] @ x for head in range(width[1])]
    assert torch.allclose(attention(x), sum(averages) / width[1], rtol=EXACT, atol=EXACT)
    # An average leaves equal tokens as they are, and no token outside the range of the others.
    assert torch.allclose(attention(x[:, :1].expand_as(x)), x[:, :1].expand_as(x), rtol=EXACT, atol=EXACT)
    assert (attention(x) <= x.amax(dim=1, keepdim=True) + EXACT).all()
    assert (attention(x) >= x.amin(dim=1, keepdim=True) - EXACT).all()


@given(seeds, widths, values)
def test_the_order_of_the_tokens_does_not_matter(seed, width, use_value):
    attention, x = attention_of(seed, width, use_value), state(seed, width)
    order = torch.randperm(7, generator=torch.Generator().manual_seed(seed))
    assert torch.allclose(attention(x[:, order]), attention(x)[:, order], rtol=EXACT, atol=EXACT)


@given(seeds, widths, values)
def test_any_batch_axes_and_none(seed, width, use_value):
    attention, x = attention_of(seed, width, use_value), state(seed, width)
    assert torch.allclose(attention(x[0]), attention(x)[0], rtol=EXACT, atol=EXACT)
    assert torch.allclose(attention(x[None]), attention(x)[None], rtol=EXACT, atol=EXACT)


def test_weights_of_values_and_output_are_there_only_with_values():
    names = {name.split(".")[0] for name, _ in SoftmaxAttention(4, 2).named_parameters()}
    assert names == {"query", "key", "value", "out"}
    names = {name.split(".")[0] for name, _ in SoftmaxAttention(4, 2, use_value=False).named_parameters()}
    assert names == {"query", "key"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dim": 0}, "dim: found 0, allowed a whole number >= 1"),
        ({"dim": 4, "heads": 0}, "heads: found 0, allowed a whole number >= 1"),
        ({"dim": 4, "heads": 3}, "heads: found 3, allowed a divisor of dim = 4"),
        ({"dim": 4, "heads": 8}, "heads: found 8, allowed a divisor of dim = 4"),
    ],
)
def test_refuses_in_one_line(arguments, message):
    with pytest.raises(ValueError, match=message) as caught:
        SoftmaxAttention(**arguments)
    assert "\n" not in str(caught.value)
