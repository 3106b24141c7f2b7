"""Solutions of the exercises on hosts, and the chapter's own block."""

# ruff: noqa: PLC0415
import torch
import torch.nn.functional as F
from torch import nn

import wavy
from wavy.dynamics import KINDS, mode_factors
from wavy.layers import JointLayerNorm, JointMLP


class Block(nn.Module):
    """A pre-norm block: your attention, wavy's residual."""

    def __init__(self, dim, residual="diffusion"):
        super().__init__()
        self.attention = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.residual = wavy.Residual(dim, residual, form="stock")
        self.norm1, self.norm2 = JointLayerNorm(dim), JointLayerNorm(dim)
        self.mlp = JointMLP(dim, 4 * dim)

    def forward(self, x, memory):
        read, _ = self.norm1(x)
        ax, _ = self.attention(read, read, read, need_weights=False)
        x, memory = self.residual(x, ax, memory)
        if not self.residual.carries_velocity:
            dx, _ = self.mlp(*self.norm2(x))
            return x + dx, memory
        dx, dv = self.mlp(*self.norm2(x, memory))
        return x + dx, memory + dv


class Model(nn.Module):
    """Blocks that hand their memory on."""

    def __init__(self, dim=8, num_layers=4):
        super().__init__()
        self.blocks = nn.ModuleList(Block(dim) for _ in range(num_layers))

    def forward(self, x):
        memory = None
        for block in self.blocks:
            x, memory = block(x, memory)
        return x


@wavy.converter(Model)
def _convert(model, options):
    """Exchange the residuals of a model, in place."""
    for block in model.blocks:
        block.residual = options.build(block.residual.dim, like=block.norm1.weight)


def by_name():
    """Models by name or class, with any residual."""
    import timm

    from wavy.hosts import bert, vit  # makes them known to timm and transformers

    deit = timm.create_model("wavy_deit_tiny_patch16_224", residual="light")
    assert type(deit) is vit.WavyVisionTransformer
    config = bert.WavyBertConfig(num_hidden_layers=2, residual="mix_full")
    model = bert.WavyBertForMaskedLM(config)
    # or: bert.WavyBertForMaskedLM.from_pretrained(stock_folder, residual="mix_full")
    return deit, model


def fine_tuning():
    """A trained model, whoever trained it, goes on with a light wave."""
    trained = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(16, 2, 32, batch_first=True),
        num_layers=4,
        enable_nested_tensor=False,
    )
    light = wavy.wavify(trained, residual="light", theta_init=-4.0)
    named = dict(light.named_parameters())
    thetas = [p for name, p in named.items() if name.endswith("theta")]
    rest = [p for name, p in named.items() if not name.endswith("theta")]
    # Weight decay would pull theta to zero, and so lambda to one half.
    kept = {"params": thetas, "weight_decay": 0.0}
    optimizer = torch.optim.AdamW([{"params": rest}, kept], lr=1e-3)
    loss = light(torch.randn(2, 5, 16)).square().mean()
    loss.backward()
    optimizer.step()
    assert all(p.grad is not None for p in (*rest, *thetas))


def own_model():
    """The chapter's model with every kind computes from a low start what it did."""
    torch.manual_seed(0)
    model, x = Model().double(), torch.randn(2, 5, 8, dtype=torch.float64)
    for kind in KINDS:
        other = wavy.wavify(model, kind, theta_init=-40.0)
        same = torch.allclose(other(x), model(x), atol=1e-12)
        assert same == (kind != "full")


def one_token():
    """One token in both forms, over two layers."""
    x = torch.ones(1, 3, dtype=torch.float64)
    found = {}
    for form in ("euler", "stock"):
        for kind in KINDS:
            residual = wavy.Residual(3, kind, form=form).double()
            first, memory = residual(x, x)
            second, _ = residual(first, first, memory)
            found[form, kind] = second[0, 0].item()
    assert all(found["euler", kind] == 1 for kind in KINDS)
    assert found["stock", "diffusion"] == 4
    assert found["stock", "full"] == 1
    assert found["stock", "light"] == 4.5  # twice the state, and half of what it moved
    assert found["stock", "mix_full"] == 2.25
    assert found["stock", "mix_light"] == 2.5
    return found


def slow_channels():
    """A small gamma slows the wave by its square root; a negative one makes it grow."""
    tau, mu, gamma = 0.1, 0.5, 0.04
    plain, slow = (mode_factors(m, tau, "full")[0] for m in (mu, gamma * mu))
    ratio = (slow.angle() / plain.angle()).item()
    assert abs(ratio - gamma**0.5) < 1e-3
    assert mode_factors(-gamma * mu, tau, "full").abs().max() > 1


def causal_modes():
    """No mode of a causal wave grows or fades, and yet the state may grow."""
    torch.manual_seed(0)
    scores = 3 * torch.randn(12, 12, dtype=torch.float64)
    mask = torch.ones(12, 12, dtype=torch.bool).triu(1)
    a = F.softmax(scores.masked_fill(mask, float("-inf")), dim=-1)
    values = torch.linalg.eigvals(a)
    assert values.imag.abs().max() == 0
    assert torch.allclose(values.real.sort().values, a.diagonal().sort().values)
    factors = mode_factors(1 - a.diagonal(), 0.5, "full")
    assert torch.allclose(factors.abs(), torch.ones(12, 2, dtype=torch.float64))
    residual, memory = wavy.Residual(1, "full", tau=0.5), None
    x = torch.randn(12, 1, dtype=torch.float64)
    sizes = [x.norm().item()]
    for _ in range(60):
        x, memory = residual(x, a @ x, memory)
        sizes.append(x.norm().item())
    assert max(sizes) > 50 * sizes[0]
    return sizes
