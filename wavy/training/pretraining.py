"""BERT's pre-training: masked sequences, the model that predicts them, and the sum of its two losses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import Dataset, default_collate

from wavy.training.loop.tasks import Batch
from wavy.training.masking import IGNORED, Draws, Masking
from wavy.training.sentence_pairs import SentencePairs

if TYPE_CHECKING:
    from wavy.hosts.bert import WavyBertForPreTraining


class MaskedPairs(Dataset):
    """Pairs of spans with masked tokens, as :class:`PretrainingTask` takes them.

    Args:
        pairs: n pairs of length L.
        masking: draws the masks from torch's common generator, so that the training loop gives each visit its own;
            or with a seed once and for all.
        seed: of masks that stay; ``None`` draws anew each time.
    """

    def __init__(self, pairs: SentencePairs, masking: Masking, seed: int | None = None) -> None:
        self.pairs, self.masking = pairs, masking
        generator = None if seed is None else torch.Generator().manual_seed(seed)
        self.fixed = None if seed is None else masking(pairs.input_ids, generator)

    def __len__(self) -> int:
        return len(self.pairs.input_ids)

    def __getitem__(self, index: int) -> dict[str, Tensor | Draws]:
        example = {name: values[index] for name, values in vars(self.pairs).items()}
        if self.fixed is None:
            return example | {"draws": self.masking.draw(example["input_ids"].shape, torch.default_generator)}
        return example | {"input_ids": self.fixed[0][index], "labels": self.fixed[1][index]}

    def collate(self, examples: list[dict[str, Tensor | Draws]]) -> dict[str, Tensor]:
        """A batch; masks are laid on all its sequences at once, which takes a fraction of the time."""
        batch = default_collate(examples)
        if draws := batch.pop("draws", None):
            batch["input_ids"], batch["labels"] = self.masking.apply(batch["input_ids"], draws)
        return batch


class MaskedPredictor(nn.Module):
    """BERT with its two heads, that for tokens on the masked ones alone: the others' logits would cost a third more.

    Args:
        bert: with both heads.
    """

    def __init__(self, bert: WavyBertForPreTraining) -> None:
        super().__init__()
        self.bert = bert

    def state_modules(self) -> list[nn.Module]:
        """The embeddings and the layers, whose outputs are the model's states."""
        return [self.bert.bert.embeddings, *self.bert.bert.encoder.layer]

    def forward(
        self, input_ids: Tensor, token_type_ids: Tensor, attention_mask: Tensor, predicted: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Logits of the tokens where ``predicted``, (M, V), and of the pairs, (B, 2)."""
        out = self.bert.bert(input_ids=input_ids, token_type_ids=token_type_ids, attention_mask=attention_mask)
        heads = self.bert.cls
        return heads.predictions(out.last_hidden_state[predicted]), heads.seq_relationship(out.pooler_output)


class PretrainingTask:
    """Predict the masked tokens, and whether the second span follows the first.

    The loss is the mean over masked tokens plus, with ``nsp``, the mean over pairs. Evaluation gives ``loss`` (nats a
    masked token), ``perplexity``, ``accuracy`` and number (``tokens``) of masked tokens; the same of those that are
    shown as [MASK], ``hidden_loss`` and so on, which only place and context can tell; and ``nsp_accuracy``.

    Args:
        nsp: whether pairs count.
        mask_id: the token [MASK].
        predictions: masked tokens of a full sequence: the loop divides the sum of all losses by the number of masked
            tokens, so a pair counts as many times.
    """

    def __init__(self, nsp: bool, mask_id: int, predictions: int) -> None:
        self.nsp, self.mask_id, self.predictions = nsp, mask_id, predictions

    def weight(self, batch: Batch) -> float:
        return float((batch["labels"] != IGNORED).sum())

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        tokens, pairs, predicted = self._logits(model, batch)
        loss = F.cross_entropy(tokens, batch["labels"][predicted], reduction="sum")
        # Without NSP its head still takes part, so that all have the same gradients.
        factor, labels = self.predictions if self.nsp else 0, batch["next_sentence_label"]
        return loss + factor * F.cross_entropy(pairs, labels, reduction="sum")

    def outputs(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        tokens, pairs, predicted = self._logits(model, batch)
        labels = batch["labels"][predicted]
        hidden = batch["input_ids"][predicted] == self.mask_id
        values = {
            "loss": F.cross_entropy(tokens, labels, reduction="none"),
            "right": (tokens.argmax(dim=-1) == labels).to(tokens.dtype),
            "tokens": torch.ones_like(labels, dtype=tokens.dtype),
        }
        values |= {f"hidden_{name}": value * hidden for name, value in values.items()}
        row = predicted.nonzero()[:, 0]
        empty = tokens.new_zeros(len(predicted))
        sums = {name: empty.index_add(0, row, value) for name, value in values.items()}
        return sums | {"pairs": pairs.argmax(dim=-1) == batch["next_sentence_label"]}

    def metrics(self, outputs: dict[str, Tensor]) -> dict[str, float]:
        sums = {name: values.double().sum() for name, values in outputs.items()}
        return {
            **_token_metrics("", sums),
            **_token_metrics("hidden_", sums),
            "nsp_accuracy": outputs["pairs"].double().mean().item(),
        }

    def _logits(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        predicted = batch["labels"] != IGNORED
        inputs = {name: batch[name] for name in ("input_ids", "token_type_ids", "attention_mask")}
        return *model(**inputs, predicted=predicted), predicted


def _token_metrics(prefix: str, sums: dict[str, Tensor]) -> dict[str, float | None]:
    if not sums[prefix + "tokens"]:
        return dict.fromkeys(prefix + name for name in ("loss", "perplexity", "accuracy", "tokens"))
    loss, right = (sums[prefix + name] / sums[prefix + "tokens"] for name in ("loss", "right"))
    metrics = {"loss": loss, "perplexity": loss.exp(), "accuracy": right, "tokens": sums[prefix + "tokens"]}
    return {prefix + name: value.item() for name, value in metrics.items()}
