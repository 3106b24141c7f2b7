"""timm's models with wavy blocks: timm's own numbers for diffusion, timm's own features for every kind."""

from __future__ import annotations

import pytest
import torch

timm = pytest.importorskip("timm")

from wavy.dynamics import KINDS, MIXED_KINDS  # noqa: E402
from wavy.hosts import vit  # noqa: E402

SMALL = {"img_size": 32, "patch_size": 8, "embed_dim": 24, "depth": 3, "num_heads": 3, "num_classes": 5}
kinds = pytest.mark.parametrize("kind", KINDS)


def small(kind, **options):
    torch.manual_seed(0)
    return timm.create_model("wavy_deit_tiny_patch16_224", residual=kind, **SMALL | options).double().eval()


def images(batch=2):
    return torch.randn(batch, 3, 32, 32, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


@pytest.mark.parametrize("name", ["deit_tiny_patch16_224", "vit_tiny_patch16_224"])
@pytest.mark.parametrize("train", [False, True])
def test_diffusion_is_timm_bit_for_bit(name, train):
    options = SMALL | {"drop_path_rate": 0.2, "proj_drop_rate": 0.1}
    stock = timm.create_model(name, **options).double().train(train)
    wavy = timm.create_model(f"wavy_{name}", **options).double().train(train)
    wavy.load_state_dict(stock.state_dict())
    found = []
    for model in (stock, wavy):
        torch.manual_seed(3)
        found.append(model(images()))
    assert torch.equal(*found)


@kinds
def test_stock_weights_load_with_only_theta_missing(kind):
    stock = timm.create_model("deit_tiny_patch16_224", **SMALL).double()
    missing, unexpected = small(kind).load_state_dict(stock.state_dict(), strict=False)
    assert unexpected == []
    expected = [f"blocks.{i}.residual.theta" for i in range(3)] if kind in MIXED_KINDS else []
    assert missing == expected


@pytest.mark.parametrize("kind", MIXED_KINDS)
def test_very_negative_theta_is_the_stock_model(kind):
    stock = timm.create_model("deit_tiny_patch16_224", **SMALL).double().eval()
    wavy = small(kind, theta_init=-60.0)
    wavy.load_state_dict(stock.state_dict(), strict=False)
    assert torch.allclose(wavy(images()), stock(images()), atol=1e-12)


@kinds
def test_intermediates_are_the_states_of_the_forward_pass(kind):
    model = small(kind)
    final, states = model.forward_intermediates(images(), output_fmt="NLC")
    assert torch.equal(model.forward_head(final), model(images()))
    assert [state.shape for state in states] == [(2, 16, 24)] * 3
    seen = []
    hooks = [
        block.register_forward_hook(lambda m, i, out: seen.append(out[0] if isinstance(out, tuple) else out))
        for block in model.blocks
    ]
    model(images())
    for hook in hooks:
        hook.remove()
    assert all(torch.equal(state, x[:, 1:]) for state, x in zip(states, seen, strict=True))


@kinds
def test_checkpointing_changes_no_gradient(kind):
    def gradients(model, run):
        model.zero_grad()
        run(model).square().sum().backward()
        return [p.grad.clone() for p in model.parameters() if p.grad is not None]

    for run in (lambda m: m(images()), lambda m: m.forward_intermediates(images(), intermediates_only=True)[-1]):
        model = small(kind).train()
        plain = gradients(model, run)
        model.set_grad_checkpointing()
        again = gradients(model, run)
        assert len(plain) == len(again)
        assert all(torch.allclose(a, b, atol=1e-12) for a, b in zip(plain, again, strict=True))


@kinds
def test_features_pruning_and_classifier(kind):
    features = small(kind, features_only=True)
    assert [tuple(f.shape) for f in features(images())] == [(2, 24, 4, 4)] * 3
    model = small(kind)
    model.reset_classifier(2)
    assert model.double()(images()).shape == (2, 2)
    model.prune_intermediate_layers([1])
    assert model.forward_features(images()).shape == (2, 17, 24)
    assert all(
        "theta" in name or name in {"pos_embed", "cls_token", "reg_token", "dist_token"}
        for name in model.no_weight_decay()
    )


@kinds
def test_autocast_export_and_compile(kind):
    model, x = small(kind).float(), images().float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.isfinite(model(x)).all()
    exported = torch.export.export(model, (x,)).module()
    assert torch.allclose(exported(x), model(x), atol=1e-5)
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    assert torch.allclose(compiled(x), model(x), atol=1e-5)


@pytest.mark.parametrize("kind", ["full", "mix_full"])
def test_drop_path_skips_state_and_velocity_together(kind):
    torch.manual_seed(0)
    block = vit.WavyViTBlock(8, 2, residual=kind, drop_path=0.999999).double().train()
    x, velocity = torch.randn(2, 4, 5, 8, dtype=torch.float64)
    after, kept = block((x, velocity))
    assert torch.equal(after, x)
    assert torch.equal(kept, velocity)


@kinds
def test_gradients_are_right(kind):
    torch.manual_seed(0)
    block = vit.WavyViTBlock(4, 2, residual=kind).double().eval()
    x, memory = torch.randn(2, 1, 3, 4, dtype=torch.float64, requires_grad=True)
    inputs = (x,) if kind == "diffusion" else (x, memory)
    assert torch.autograd.gradcheck(lambda *pair: block(pair if len(pair) > 1 else pair[0]), inputs)
