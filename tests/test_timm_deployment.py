"""timm's public behaviours, for all wavy models: precision, compilation, export."""

from __future__ import annotations

import pytest
import torch

from timm_kit import SCALES, few, images, kinds, small
from wavy.dynamics import KINDS

halves = pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
#: Rounding of a few layers, relative to the largest output.
ROUNDING = {torch.bfloat16: 0.1, torch.float16: 0.02}
VIT, CAIT = "deit_tiny_patch16_224", "cait_xxs24_224"
#: Compilation is slow: all kinds once, and the largest with each model.
cases = pytest.mark.parametrize(("name", "kind"), [*((VIT, kind) for kind in KINDS), (CAIT, "mix_full")])
largest = pytest.mark.parametrize(("name", "kind"), [(VIT, "mix_full"), (CAIT, "mix_full")])


def close(found, expected, tolerance=1e-5):
    return (found - expected).abs().max() < tolerance * expected.abs().max()


def calm(name, kind, **options):
    """A model whose outputs are no larger than its inputs, as a trained one's, in float32."""
    model = small(name, kind, **SCALES | options).float()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(0.5) if parameter.dim() == 2 else None
    return model


@kinds
@few
@halves
def test_autocast(name, kind, dtype):
    model, x = calm(name, kind).train(), images().float()
    expected = model(x)
    with torch.autocast("cpu", dtype=dtype):
        found = model(x)
    assert found.dtype == dtype
    assert close(found.float(), expected, ROUNDING[dtype])
    found.float().square().sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters())


@kinds
@few
@halves
def test_weights_in_half_precision(name, kind, dtype):
    model, x = calm(name, kind), images().float()
    expected = model(x)
    found = model.to(dtype)(x.to(dtype))
    assert found.dtype == dtype
    assert close(found.float(), expected, ROUNDING[dtype])


@cases
def test_export_with_any_batch_size(name, kind):
    model = calm(name, kind, depth=2)
    batch = torch.export.Dim("batch", min=1)
    exported = torch.export.export(model, (images().float(),), dynamic_shapes={"x": {0: batch}}).module()
    assert close(exported(images(3).float()), model(images(3).float()))


@cases
def test_compile_in_one_graph(name, kind):
    torch._dynamo.reset()
    model = calm(name, kind, depth=2)
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    assert close(compiled(images().float()), model(images().float()))


@largest
def test_compiled_training_has_the_same_gradients(name, kind):
    torch._dynamo.reset()
    model, gradients = calm(name, kind, depth=2).double().train(), []
    for run in (model, torch.compile(model, backend="aot_eager", fullgraph=True)):
        model.zero_grad()
        run(images()).square().sum().backward()
        gradients.append([p.grad.clone() for p in model.parameters()])
    assert all(torch.allclose(a, b, atol=1e-8) for a, b in zip(*gradients, strict=True))


@largest
def test_features_compile_in_one_graph(name, kind):
    torch._dynamo.reset()
    features = calm(name, kind, depth=2, features_only=True, out_indices=2)
    compiled = torch.compile(features, backend="eager", fullgraph=True)
    pairs = zip(compiled(images().float()), features(images().float()), strict=True)
    assert all(close(*pair) for pair in pairs)
