"""Training the wavy language models: gradients, checkpointing, half precision, compilers, transformers' Trainer."""

from __future__ import annotations

import logging

import pytest
import torch

transformers = pytest.importorskip("transformers")

from language_models import close, families, kinds, tokens  # noqa: E402
from wavy.dynamics import MIXED_KINDS  # noqa: E402


@families
@kinds
def test_gradients_of_a_layer_are_right(family, kind):
    model = family.make(kind, **dict.fromkeys(("hidden_size", "intermediate_size", "n_embd", "n_inner"), 4))
    layer = model.layers()[0]
    x, memory = torch.randn(2, 1, 3, 4, dtype=torch.float64, requires_grad=True)
    inputs = (x,) if kind == "diffusion" else (x, memory)
    assert torch.autograd.gradcheck(lambda *pair: layer(pair if len(pair) > 1 else pair[0]), inputs)


@families
@kinds
def test_every_weight_learns(family, kind):
    model = family.make(kind)
    model(tokens(), labels=tokens()).loss.backward()
    for layer in model.layers():
        weights = [p for p in layer.parameters() if p.dim() == 2]
        # In the first layer there is no momentum yet that light could weigh.
        if kind in MIXED_KINDS and not (kind == "light" and layer is model.layers()[0]):
            weights.append(layer.residual.theta)
        assert all(p.grad.abs().max() > 1e-9 for p in weights)


@families
@kinds
@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_checkpointing_changes_no_gradient(family, kind, reentrant):
    found = []
    for checkpointing in (False, True):
        model = family.make(kind).train()
        if checkpointing:
            model.gradient_checkpointing_enable({"use_reentrant": reentrant})
            model.enable_input_require_grads()
        torch.manual_seed(3)  # dropout
        out = model(tokens(), labels=tokens(), output_hidden_states=True)
        out.loss.backward()
        grads = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
        found.append((out.loss, grads, [x.shape for x in out.hidden_states]))
    (loss, plain, shapes), (again, checkpointed, same) = found
    assert close(loss, again)
    assert shapes == same
    assert plain.keys() == checkpointed.keys()
    assert all(close(grad, checkpointed[name]) for name, grad in plain.items())


@families
@kinds
def test_half_precision(family, kind):
    model = family.make(kind).float()
    exact = model(tokens(), labels=tokens())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = model(tokens(), labels=tokens(), output_hidden_states=True)
    out.loss.backward()
    assert close(out.loss, exact.loss, 0.1)
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)
    half = model.bfloat16()(tokens(), output_hidden_states=True)
    assert {x.dtype for x in (half.logits, *half.hidden_states)} == {torch.bfloat16}
    assert close(half.logits.softmax(-1).float(), exact.logits.softmax(-1), 0.1)


@families
@kinds
def test_compile_without_a_graph_break(family, kind):
    torch._dynamo.reset()
    model, mask = family.make(kind, num_hidden_layers=2, use_cache=False), _mask()
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    assert close(compiled(tokens(), attention_mask=mask).logits, model(tokens(), attention_mask=mask).logits)


@families
@kinds
def test_export_with_free_batch_and_length(family, kind):
    model = family.make(kind, num_hidden_layers=2, use_cache=False)
    free = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    shapes = {"input_ids": free, "attention_mask": free}
    inputs = {"input_ids": tokens(), "attention_mask": _mask()}
    exported = torch.export.export(model, (), inputs, dynamic_shapes=shapes).module()
    ids = tokens(3, 5)
    assert close(exported(input_ids=ids, attention_mask=torch.ones_like(ids)).logits, model(ids).logits)


def _mask():
    return torch.ones(2, 7).index_fill(1, torch.tensor([5, 6]), 0).long()


@families
@kinds
def test_the_trainer_learns_saves_and_resumes(family, kind, tmp_path):
    pytest.importorskip("accelerate")
    logging.getLogger("accelerate").setLevel(logging.ERROR)
    data = [{"input_ids": ids, "labels": ids} for ids in tokens(8, 7)]

    def trainer(steps):
        arguments = transformers.TrainingArguments(
            str(tmp_path),
            max_steps=steps,
            save_steps=4,
            logging_steps=1,
            learning_rate=1e-2,
            lr_scheduler_type="constant",
            per_device_train_batch_size=4,
            report_to=[],
            disable_tqdm=True,
            use_cpu=True,
        )
        return transformers.Trainer(family.make(kind).float(), arguments, train_dataset=data)

    whole = trainer(8)
    whole.train()
    losses = [entry["loss"] for entry in whole.state.log_history if "loss" in entry]
    assert losses[-1] < losses[0]
    resumed = trainer(8)
    resumed.train(resume_from_checkpoint=str(tmp_path / "checkpoint-4"))
    pairs = zip(whole.model.parameters(), resumed.model.parameters(), strict=True)
    assert all(close(a, b, 1e-5) for a, b in pairs)
    again = family.wavy.from_pretrained(tmp_path / "checkpoint-8")
    assert again.config.residual == kind
