"""A device that this machine lacks is refused before anything is built."""

from __future__ import annotations

import pytest
import torch

from wavy.experiments.difformer import DifformerRun
from wavy.experiments.transformer import TransformerRun
from wavy.training.difformer import train_difformer
from wavy.training.transformer import train_transformer


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
@pytest.mark.parametrize(
    ("train", "run"), [(train_difformer, DifformerRun(dataset="digits")), (train_transformer, TransformerRun())]
)
def test_a_missing_gpu_is_one_line(train, run):
    with pytest.raises(ValueError, match=r"^device: found .cuda., but torch sees no GPU here; allowed cpu$"):
        train(run, "cuda")


def test_an_unknown_device_is_named():
    with pytest.raises(ValueError, match="device: found 'tpu', allowed cpu, cuda"):
        train_transformer(TransformerRun(), "tpu")
