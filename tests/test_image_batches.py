"""Batches of images: the same for any number of processes, other ones each epoch, and targets that a loss can take."""

from dataclasses import replace
from itertools import groupby

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from wavy.data.images import ImageData, load_images
from wavy.training.augment import RECIPES, Augmentation
from wavy.training.image_batches import DrawSampler, evaluation_batches, training_batches

LIGHT = RECIPES["light"]
MIXED = Augmentation(mixup=0.8, cutmix=1.0, smoothing=0.1)


@pytest.fixture(scope="module")
def digits():
    return load_images("digits", "train").sample(40)


def numbered(count=12, size=8):
    """Images each of whose pixels tell its number."""
    pixels = np.ones((count, size, size, 3), dtype=np.uint8) * np.arange(count, dtype=np.uint8)[:, None, None, None]
    labels, classes = np.arange(count) % 3, ("a", "b", "c")
    return ImageData("numbers", "train", pixels, labels, classes, (0.0,) * 3, (1.0,) * 3, True, "here")


def epoch(loader, number):
    loader.batch_sampler.sampler.set_epoch(number)
    return list(loader)


def equal(some, others):
    pairs = list(zip(some, others, strict=True))
    return all(torch.equal(a, b) for one, other in pairs for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("recipe", [LIGHT, RECIPES["deit"]], ids=["light", "deit"])
def test_batches_are_the_same_for_any_number_of_workers_and_any_state_of_the_generators(digits, recipe):
    pytest.importorskip("timm")
    here, there = (training_batches(digits, recipe, 8, seed=3, workers=workers) for workers in (0, 2))
    for number in (0, 1):
        torch.manual_seed(number)
        np.random.seed(number)
        assert equal(epoch(here, number), epoch(there, number))
    assert equal(epoch(here, 1), epoch(training_batches(digits, recipe, 8, seed=3), 1))


def test_epochs_and_seeds_give_other_orders_and_other_changes(digits):
    alike = digits.take(np.zeros(8, dtype=int))
    ((first, _),), ((second, _),) = (epoch(training_batches(alike, LIGHT, 8, seed=0), number) for number in (0, 1))
    assert not torch.equal(first, second)
    orders = [[index for _, index in sampler] for sampler in _samplers(50)]
    assert len({tuple(order) for order in orders}) == len(orders)


def _samplers(length):
    for seed, number in ((0, 0), (0, 1), (1, 0), (1, 1)):
        sampler = DrawSampler(length, seed, 1)
        sampler.set_epoch(number)
        yield sampler


def test_an_epoch_shows_every_image_once_but_for_the_rest():
    loader = training_batches(numbered(13), Augmentation(flip=0.0), 4, seed=0)
    batches = epoch(loader, 0)
    seen = torch.cat([(pixels[:, 0, 4, 4] * 255).round().long() for pixels, _ in batches])
    assert (len(loader), len(batches), len(seen), len(seen.unique())) == (3, 3, 12, 12)
    assert torch.equal(torch.cat([labels for _, labels in batches]), seen % 3)


def test_repeats_follow_each_other_as_in_timms_sampler():
    timm = pytest.importorskip("timm.data.distributed_sampler")
    theirs = timm.RepeatAugSampler(range(50), num_replicas=1, rank=0, num_repeats=3, selected_round=0)
    ours = DrawSampler(50, 0, 3)
    lengths = [[len(list(group)) for _, group in groupby(order)] for order in (theirs, [index for _, index in ours])]
    assert lengths[0] == lengths[1] == [3] * 16 + [2]
    assert len({key for key, _ in ours}) == len(ours) == 50  # each repeat is changed by a key of its own


def test_judging_shows_all_images_in_order_and_unchanged():
    data = numbered(13)
    batches = list(evaluation_batches(data, LIGHT, 4))
    assert [len(pixels) for pixels, _ in batches] == [4, 4, 4, 1]
    pixels, labels = (torch.cat(parts) for parts in zip(*batches, strict=True))
    assert torch.equal((pixels * 255).round().byte().permute(0, 2, 3, 1), torch.from_numpy(data.images))
    assert labels.tolist() == data.labels.tolist()


def test_targets_of_mixed_images_are_the_shares_of_the_area():
    pytest.importorskip("timm")
    data = numbered(13).take(np.arange(1, 13))  # none looks like the black border
    data = replace(data, labels=np.arange(12), classes=tuple("abcdefghijkl"))
    loader = training_batches(data, replace(MIXED, mixup=0.0, smoothing=0.0), 12, seed=0)
    shares = set()
    for number in range(6):
        ((pixels, targets),) = epoch(loader, number)
        assert (targets.shape, targets.dtype) == ((12, 12), torch.float32)
        torch.testing.assert_close(targets.sum(dim=1), torch.ones(12))
        for image, target in zip((pixels[:, 0] * 255).round().long(), targets, strict=True):
            counts = image.flatten().bincount(minlength=13)[1:]
            assert (counts <= 64 * target + 1e-3).all()  # less where the black border came in
            assert counts.sum() >= 64 - 2 * 15
            shares |= {round(share, 3) for share in target.tolist()}
    assert len(shares) > 4


def test_smoothed_targets_are_those_of_cross_entropy(digits):
    pytest.importorskip("timm")
    ((_, targets), *_) = epoch(training_batches(digits, MIXED, 8, seed=0), 0)
    assert targets.min().item() == pytest.approx(0.1 / 10)
    loss = F.cross_entropy(torch.zeros(8, 10), targets)
    assert loss.item() == pytest.approx(np.log(10), rel=1e-5)


def test_accelerate_shares_the_same_draws_between_processes(digits):
    accelerate = pytest.importorskip("accelerate.data_loader")
    alone = epoch(training_batches(digits, LIGHT, 8, seed=0), 2)
    parts = []
    for process in range(2):
        loader = accelerate.prepare_data_loader(
            training_batches(digits, LIGHT, 8, seed=0), num_processes=2, process_index=process, put_on_device=False
        )
        loader.set_epoch(2)
        parts.append(list(loader))
    assert [len(part) for part in parts] == [2, 2]
    together = [batch for pair in zip(*parts, strict=True) for batch in pair]
    assert equal(together, alone[:4])


@pytest.mark.parametrize(
    ("recipe", "options", "message"),
    [
        (LIGHT, {"batch_size": 41}, "batch_size: found 41, allowed at most 40, the number of images"),
        (LIGHT, {"batch_size": 0}, "batch_size: found 0, allowed a whole number >= 1"),
        (MIXED, {"batch_size": 7}, "batch_size: found 7, allowed an even number"),
        (LIGHT, {"batch_size": 8, "size": 0}, "size: found 0, allowed"),
    ],
)
def test_wrong_arguments_are_one_clear_line(digits, recipe, options, message):
    with pytest.raises(ValueError, match=message):
        training_batches(digits, recipe, seed=0, **options)


def test_images_that_are_not_square_need_a_size():
    pytest.importorskip("timm")
    oblong = replace(numbered(4), images=np.zeros((4, 40, 50, 3), dtype=np.uint8))
    with pytest.raises(ValueError, match="size: found None for images of 40 x 50 pixels"):
        training_batches(oblong, RECIPES["deit"], 2, seed=0)
    for make in (lambda **o: training_batches(oblong, seed=0, **o), lambda **o: evaluation_batches(oblong, **o)):
        pixels, _ = next(iter(make(recipe=RECIPES["deit"], batch_size=2, size=36)))
        assert pixels.shape == (2, 3, 36, 36)
