"""What the residual means where attention does not join all tokens: causal, padded, crossed, of one token or none.

The residual joins X (..., N, d) with A X of the same shape, token by token. What a token may attend to is the host's
affair: a mask sets entries of A to zero, and its rows still sum to one. In cross attention A is (N, M) and meets other
tokens Z (M, d): A Z stands where A X stood, and the force A Z - X draws each token to an average of Z that is its own.
No token of X acts on another. While A Z stays the same, a wave makes each token an oscillator about (A Z)_i, and
diffusion lets it decay to there.
"""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from systems import normal, row_stochastic
from wavy.dynamics import KINDS, shadow_energy
from wavy.hosts.encoder import WavyTransformerEncoder, WavyTransformerEncoderLayer
from wavy.hosts.softmax_attention import SoftmaxAttention
from wavy.hosts.transformer import NORMS, Transformer, WavyBlock
from wavy.residual import FORMS, Residual

kinds = pytest.mark.parametrize("kind", KINDS)
forms = pytest.mark.parametrize("form", FORMS)
norms = pytest.mark.parametrize("norm", NORMS)
CAUSAL = torch.ones(5, 5).tril().bool()


def layers(kind, form, x, attend, count=4):
    """State and memory before the first of some layers and after each; each layer has its own lambda."""
    pair = x, None
    pairs = [pair]
    for layer in range(count):
        residual = Residual(x.shape[-1], kind, 0.3, form=form).double()
        if residual.theta is not None:
            residual.theta.data = normal(layer, x.shape[-1])
        pairs.append(pair := residual(pair[0], attend(pair[0]), pair[1]))
    return pairs


def tensors(pairs):
    return [part for pair in pairs for part in pair if part is not None]


def close(found, expected):
    return all(torch.allclose(a, b, rtol=1e-12, atol=1e-12) for a, b in zip(found, expected, strict=True))


def masked(mask):
    return lambda x: F.scaled_dot_product_attention(x, x, x, attn_mask=mask)


@forms
@kinds
def test_a_token_is_joined_by_itself(kind, form):
    """So a cache of keys and values is all that generation token by token needs."""
    x, ax, memory = (normal(seed, 2, 5, 4) for seed in range(3))
    residual = Residual(4, kind, 0.3, form=form).double()
    together = residual(x, ax, memory)
    alone = [residual(*(part[:, i : i + 1] for part in (x, ax, memory))) for i in range(5)]
    for part, parts in zip(together, zip(*alone, strict=True), strict=True):
        assert part is None or torch.equal(part, torch.cat(parts, dim=1))


@forms
@kinds
def test_causal_a_token_sees_no_later_one(kind, form):
    x = normal(0, 2, 5, 4)
    changed = torch.cat([x[:, :3], normal(1, 2, 2, 4)], dim=1)
    full, other = (tensors(layers(kind, form, start, masked(CAUSAL))) for start in (x, changed))
    prefix = tensors(layers(kind, form, x[:, :3], masked(CAUSAL[:3, :3])))
    assert close([part[:, :3] for part in full], [part[:, :3] for part in other])
    assert close([part[:, :3] for part in full], prefix)
    assert not torch.allclose(full[-1][:, 3:], other[-1][:, 3:])


@forms
@kinds
def test_padded_tokens_are_nothing_to_the_others(kind, form):
    x = normal(0, 2, 5, 4).requires_grad_()
    real = tensors(layers(kind, form, x, masked(torch.arange(5) < 3)))
    assert close([part[:, :3] for part in real], tensors(layers(kind, form, x[:, :3], masked(None))))
    sum(part[:, :3].square().sum() for part in real).backward()
    assert x.grad[:, :3].all()
    assert not x.grad[:, 3:].any()


@pytest.mark.parametrize("lengths", [(2, 5), (5, 2), (3, 1)])
@forms
@kinds
def test_crossed_no_query_acts_on_another(kind, form, lengths):
    queries, keys = lengths
    x, z = normal(0, 2, queries, 4), normal(1, 2, keys, 4)
    pairs = layers(kind, form, x, lambda x: F.scaled_dot_product_attention(x, z, z))
    assert all(part.shape == x.shape for part in tensors(pairs))
    alone = layers(kind, form, x[:, :1], lambda x: F.scaled_dot_product_attention(x, z, z))
    assert close([part[:, :1] for part in tensors(pairs)], tensors(alone))
    with pytest.raises(ValueError, match="ax: found shape"):
        Residual(4, kind)(x, z)


@kinds
def test_crossed_each_token_moves_about_its_average(kind):
    x, z, a = normal(0, 2, 3, 4), normal(1, 2, 5, 4), row_stochastic(2, 5)[:3]
    centre = a @ z
    pairs = layers(kind, "euler", x, lambda _: centre)
    still = layers(kind, "euler", centre, lambda _: centre)
    about = layers(kind, "euler", x - centre, torch.zeros_like)
    assert close([x - centre for x, _ in pairs], [u for u, _ in about])
    assert close([x for x, _ in still], [centre] * 5)


@pytest.mark.equation("eq-diffusion", "eq-shadow-energy")
def test_crossed_diffusion_decays_and_a_wave_swings_with_constant_energy():
    x, centre = normal(0, 3, 4), row_stochastic(2, 5)[:3] @ normal(1, 5, 4)
    decayed = layers("diffusion", "euler", x, lambda _: centre, 20)[-1][0]
    assert torch.allclose(decayed - centre, 0.7**20 * (x - centre), rtol=1e-9)
    energies = []
    for state, velocity in layers("full", "euler", x, lambda _: centre, 20)[1:]:
        u, y = (state - centre)[:, None], velocity[:, None]  # each token a system of its own
        energies.append(shadow_energy(u, y, torch.zeros_like(u), 0.3))
    assert close(energies, energies[:1] * 20)


@pytest.mark.parametrize("shape", [(0, 5, 4), (2, 0, 4), (0, 4)])
@forms
@kinds
def test_without_tokens_nothing_comes_out_and_no_gradient_is_nan(kind, form, shape):
    residual = Residual(4, kind, form=form)
    x = torch.zeros(shape, requires_grad=True)
    out, memory = residual(*residual(x, x)[:1], x, x)
    assert out.shape == shape
    assert memory is None or memory.shape == shape
    out.sum().backward()
    assert residual.theta is None or torch.equal(residual.theta.grad, torch.zeros(4))


def encoder(kind, norm):
    layer = WavyTransformerEncoderLayer(
        8, 2, 16, batch_first=True, norm_first=norm == "pre", residual=kind, dropout=0.0
    )
    return WavyTransformerEncoder(layer, 2, enable_nested_tensor=False)


def book_blocks(kind, norm):
    return WavyBlock(8, 2, 16, kind, norm=norm)


@pytest.mark.parametrize("shape", [(0, 5, 8), (2, 0, 8)])
@pytest.mark.parametrize("build", [encoder, book_blocks])
@norms
@kinds
def test_hosts_take_an_empty_batch(kind, norm, build, shape):
    model = build(kind, norm)
    out = model(torch.zeros(shape))
    state = out[0] if isinstance(out, tuple) else out
    assert state.shape == shape
    state.sum().backward()
    assert all(not p.grad.any() for p in model.parameters() if p.grad is not None)


@kinds
def test_the_books_transformer_takes_an_empty_batch(kind):
    assert Transformer(4, 6, 8, 3, 2, residual=kind)(torch.zeros(0, 6, 4)).shape == (0, 3)


X, OTHER = torch.tensor([[3.0, -5.0]]), torch.tensor([[4.0, 8.0]])
#: One token, tau = 1/2, lambda = 1/2: what a layer makes of X (first, then beside a memory: a velocity, or X_prev).
FIRST = {
    ("euler", "diffusion"): X,
    ("euler", "full"): X,
    ("euler", "light"): X,
    ("euler", "mix_full"): X,
    ("euler", "mix_light"): X,
    ("stock", "diffusion"): 2 * X,
    ("stock", "full"): X,
    ("stock", "light"): 2 * X,
    ("stock", "mix_full"): 1.5 * X,
    ("stock", "mix_light"): 1.5 * X,
}
LATER = {
    ("euler", "diffusion"): X,
    ("euler", "full"): X + OTHER / 2,
    ("euler", "light"): X + (X - OTHER) / 2,
    ("euler", "mix_full"): X + OTHER / 4,
    ("euler", "mix_light"): X + (X - OTHER) / 2,
    ("stock", "diffusion"): 2 * X,
    ("stock", "full"): X + OTHER / 2,
    ("stock", "light"): 2 * X + (X - OTHER) / 2,
    ("stock", "mix_full"): 1.5 * X + OTHER / 4,
    ("stock", "mix_light"): 1.5 * X + (X - OTHER) / 2,
}


@forms
@kinds
def test_one_token_attends_to_itself_alone(kind, form):
    """A = I: there is no force, euler diffusion keeps X, a velocity stays as it is, and a first one is zero."""
    attention = SoftmaxAttention(2, use_value=False)
    residual = Residual(2, kind, 0.5, form=form)
    assert torch.equal(attention(X), X)
    first, memory = residual(X, attention(X))
    assert torch.equal(first, FIRST[form, kind])
    velocity = kind in ("full", "mix_full")
    assert memory is None if kind == "diffusion" else torch.equal(memory, 0 * X if velocity else X)
    later, memory = residual(X, attention(X), OTHER)
    assert torch.equal(later, LATER[form, kind])
    assert memory is None if kind == "diffusion" else torch.equal(memory, OTHER if velocity else X)


@norms
@kinds
def test_one_token_needs_no_mask(kind, norm):
    model, x = encoder(kind, norm).double(), normal(0, 3, 1, 8)
    plain = model(x)
    assert torch.isfinite(plain).all()
    assert torch.allclose(model(x, mask=torch.zeros(1, 1).bool(), is_causal=True), plain, rtol=1e-12)
    assert torch.allclose(model(x, src_key_padding_mask=torch.zeros(3, 1).bool()), plain, rtol=1e-12)


class TestGraphs:
    """DIFFormer: attention always joins all nodes; a graph may have none of its own to add."""

    no_edges = torch.zeros(2, 0, dtype=torch.long)

    @staticmethod
    def model(kind, **options):
        hosts = pytest.importorskip("wavy.hosts.difformer")
        torch.manual_seed(0)
        return hosts.DIFFormer(4, 8, 3, num_layers=3, residual=kind, **options).double()

    @kinds
    def test_without_edges_the_published_operator_is_attention_alone(self, kind):
        x = normal(0, 5, 4)
        graph, attention = self.model(kind), self.model(kind, use_graph=False)
        assert torch.equal(graph(x, self.no_edges), attention(x, self.no_edges))

    def test_without_edges_the_row_stochastic_operator_is_half_of_attention(self):
        """A node that no edge reaches has a zero row in the graph's part; a self loop makes it a row of I."""
        x, model = normal(0, 5, 8), self.model("full", operator="row_stochastic")
        conv, loops = model.convs[0], torch.arange(5).expand(2, 5)
        attended = conv(x, None, None)
        assert torch.allclose(conv(x, model.propagation(self.no_edges, 5), 0.5), attended / 2, rtol=1e-12)
        assert torch.allclose(conv(x, model.propagation(loops, 5), 0.5), (attended + x) / 2, rtol=1e-12)

    @pytest.mark.parametrize("operator", ["published", "row_stochastic"])
    @kinds
    def test_an_isolated_node_has_attention_alone(self, kind, operator):
        edges = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
        model, x = self.model(kind, operator=operator), normal(0, 5, 4).requires_grad_()
        conv, state = model.convs[0], normal(1, 5, 8)
        joined = conv(state, model.propagation(edges, 5), None)
        assert torch.equal(joined[4], conv(state, None, None)[4])
        assert not torch.allclose(joined[:4], conv(state, None, None)[:4])
        model(x, edges).square().sum().backward()
        assert torch.isfinite(x.grad).all()
        assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)

    @pytest.mark.parametrize("kernel", ["simple", "sigmoid"])
    @kinds
    def test_one_node_and_none(self, kind, kernel):
        model = self.model(kind, kernel=kernel)
        state = normal(0, 1, 8)
        assert torch.allclose(model.convs[0](state, None, None), state, rtol=1e-12)
        for nodes in (1, 0):
            out = model(normal(0, nodes, 4), self.no_edges)
            assert out.shape == (nodes, 3)
            out.square().sum().backward()
            assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)

    @kinds
    def test_one_node_without_norm_keeps_its_state(self, kind):
        """A = I in every layer, so that euler's step does not matter."""
        slow, fast = (self.model(kind, use_norm=False, tau=tau) for tau in (0.1, 0.9))
        x = normal(0, 1, 4)
        kept = slow.fcs[1](torch.relu(slow.fcs[0](x)))
        assert torch.allclose(slow(x, self.no_edges), kept, rtol=1e-12)
        assert torch.allclose(fast(x, self.no_edges), kept, rtol=1e-12)
