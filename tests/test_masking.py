"""Masked language modelling: what is predicted and what the model sees of it."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from wavy.training.masking import IGNORED, Masking

SPECIAL = (0, 1, 2, 3, 4)
MASKING = Masking(vocab_size=1000, mask_id=4, special_ids=SPECIAL)


def batch(rows, length, seed=0):
    ids = torch.randint(5, 1000, (rows, length), generator=torch.Generator().manual_seed(seed))
    ids[:, 0], ids[:, -1] = 2, 3
    ids[::2, -5:] = 0  # padding
    return ids


def mask(masking, ids, seed=1):
    return masking(ids, torch.Generator().manual_seed(seed))


@given(st.integers(1, 200), st.sampled_from([0.15, 0.5, 1.0]), st.sampled_from([None, 1, 20]), st.integers(0, 9))
def test_the_number_of_predictions_is_fixed_by_the_ordinary_tokens(length, probability, most, seed):
    ids = torch.cat([torch.full((1, 7), 0), torch.arange(5, 5 + length)[None]], dim=1)
    masking = Masking(1000, 4, SPECIAL, probability, most)
    _, labels = mask(masking, ids, seed)
    expected = min(max(1, round(probability * length)), most or length)
    assert abs(int((labels != IGNORED).sum()) - expected) <= (abs(probability * length % 1 - 0.5) < 1e-4)


def test_labels_are_the_tokens_and_nothing_else_is_changed():
    ids = batch(64, 100)
    before = ids.clone()
    inputs, labels = mask(MASKING, ids)
    predicted = labels != IGNORED
    assert torch.equal(labels[predicted], ids[predicted])
    assert torch.equal(inputs[~predicted], ids[~predicted])
    assert torch.equal(ids, before)


def test_special_tokens_are_never_predicted_nor_shown_in_place_of_others():
    ids = batch(512, 64)
    inputs, labels = mask(Masking(8, 4, SPECIAL, 1.0), ids.where(ids < 5, ids % 3 + 5))
    special = ids < 5
    assert (labels[special] == IGNORED).all()
    assert (labels[~special] != IGNORED).all()
    assert set(inputs[~special].unique().tolist()) == {4, 5, 6, 7}


def test_eighty_percent_are_masked_ten_random_and_ten_left():
    ids = batch(2000, 130)
    inputs, labels = mask(MASKING, ids)
    predicted = labels != IGNORED
    number = int(predicted.sum())
    assert number / int((ids >= 5).sum()) == pytest.approx(0.15, abs=0.002)
    shown = inputs[predicted]
    masked, left = (shown == 4).float().mean(), (shown == ids[predicted]).float().mean()
    assert number > 37_000  # three standard deviations of a share are below 0.007
    assert masked == pytest.approx(0.8, abs=0.007)
    assert left == pytest.approx(0.1, abs=0.007)
    others = shown[(shown != 4) & (shown != ids[predicted])]
    assert others.min() >= 5
    assert len(others.unique()) > 900


def test_every_place_is_predicted_as_often_as_any_other():
    ids = torch.full((20_000, 20), 7)
    _, labels = mask(MASKING, ids)
    assert (labels != IGNORED).float().mean(0).sub(0.15).abs().max() < 0.012


def test_a_row_of_special_tokens_has_no_predictions():
    _, labels = mask(MASKING, torch.tensor([[2, 3, 0, 0], [2, 9, 3, 0]]))
    assert labels.tolist() == [[IGNORED] * 4, [IGNORED, 9, IGNORED, IGNORED]]


def test_a_seed_fixes_what_is_drawn_and_each_step_draws_anew():
    ids = batch(8, 64)
    one, other = torch.Generator().manual_seed(3), torch.Generator().manual_seed(3)
    torch.manual_seed(0)
    first = MASKING(ids, one)
    torch.manual_seed(1)
    assert all(map(torch.equal, first, MASKING(ids, other)))
    assert not torch.equal(first[1], MASKING(ids, one)[1])


def test_a_tokenizer_gives_the_ids():
    pytest.importorskip("transformers")
    from text_kit import word_tokenizer  # noqa: PLC0415

    masking = Masking.of(word_tokenizer(), max_predictions=20)
    assert masking == Masking(206, 4, SPECIAL, max_predictions=20)


@pytest.mark.parametrize(("option", "value"), [("probability", 0.0), ("probability", 1.5), ("max_predictions", 0)])
def test_wrong_options_are_named(option, value):
    with pytest.raises(ValueError, match=f"^{option}: found {value}, allowed"):
        Masking(10, 4, SPECIAL, **{option: value})
