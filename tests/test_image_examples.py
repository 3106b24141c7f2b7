"""Examples of images: batches that depend on seeds alone, targets that a loss can take, and judging without mixing."""

import pickle
import random
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from wavy.data.images import ImageData, load_images
from wavy.training.augment import RECIPES, Augmentation
from wavy.training.image_examples import collate_images, evaluation_examples, training_examples

LIGHT = RECIPES["light"]
MIXED = Augmentation(mixup=0.8, cutmix=1.0, smoothing=0.1)
CUT = Augmentation(cutmix=1.0)


@pytest.fixture(scope="module")
def digits():
    return load_images("digits", "train").sample(40)


def numbered(count=12, size=8):
    """Images all of whose pixels are the number of the image, counted from 1; each is a class of its own."""
    pixels = (
        np.ones((count, size, size, 3), dtype=np.uint8) * np.arange(1, count + 1, dtype=np.uint8)[:, None, None, None]
    )
    classes = tuple(map(str, range(count)))
    return ImageData("numbers", "train", pixels, np.arange(count), classes, (0.0,) * 3, (1.0,) * 3, True, "here")


def batch(examples, indices, seed=0):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    return collate_images([examples[index] for index in indices])


def equal(one, other):
    return set(one) == set(other) and all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("recipe", [LIGHT, MIXED, RECIPES["deit"]], ids=["light", "mixed", "deit"])
def test_a_batch_depends_on_seeds_alone(digits, recipe):
    pytest.importorskip("timm")
    examples = training_examples(digits, recipe)
    copy = pickle.loads(pickle.dumps(training_examples(digits, recipe)))
    first = batch(examples, range(8))
    assert equal(first, batch(copy, range(8)))
    assert not equal(first, batch(examples, range(8), seed=1))


@pytest.mark.parametrize("recipe", [LIGHT, RECIPES["deit"]], ids=["light", "deit"])
def test_the_training_loop_gives_the_same_batches_with_and_without_workers(digits, recipe):
    pytest.importorskip("timm")
    loop = pytest.importorskip("wavy.training.loop.examples", reason="the training loop is not there yet")
    seeded = loop.VisitedExamples(training_examples(digits, recipe), collate_images, seed=3)
    visits = [[(epoch, index) for index in range(start, start + 8)] for epoch in (0, 1) for start in (0, 8, 16)]
    here, there = ([*loop.loader(seeded, visits, workers, pin_memory=False)] for workers in (0, 2))
    assert all(equal(one, other) for one, other in zip(here, there, strict=True))
    assert not any(equal(one, other) for one, other in zip(here[:3], here[3:], strict=True))


def test_judging_shows_each_image_unchanged_with_its_class_whatever_training_does(digits):
    pytest.importorskip("timm")
    data = numbered()
    for recipe in (LIGHT, MIXED, RECIPES["deit"]):
        found = batch(evaluation_examples(data, recipe), [3, 0, 5])
        pixels = (found["x"] * 255).round().byte().permute(0, 2, 3, 1)
        assert torch.equal(pixels, torch.from_numpy(data.images[[3, 0, 5]]))
        assert found["labels"].tolist() == [3, 0, 5]
        assert len(evaluation_examples(data, recipe)) == len(data)


def test_versions_of_an_image_stand_together_and_differ():
    data = numbered()
    found = batch(training_examples(data, Augmentation(repeats=3)), [4, 7])
    assert (found["x"].shape, found["labels"].tolist()) == ((6, 3, 8, 8), [4, 4, 4, 7, 7, 7])
    numbers = (found["x"] * 255).round().flatten(1).max(dim=1).values
    assert numbers.tolist() == [5, 5, 5, 8, 8, 8]
    assert len({bytes(image.numpy()) for image in found["x"]}) > 2


def test_shares_of_pasted_images_are_shares_of_the_area():
    pytest.importorskip("timm")
    examples, shares = training_examples(numbered(), CUT), set()
    for seed in range(8):
        found = batch(examples, range(12), seed)
        assert (found["labels"].shape, found["labels"].dtype) == ((12, 12), torch.float32)
        torch.testing.assert_close(found["labels"].sum(dim=1), torch.ones(12))
        for image, target in zip((found["x"][:, 0] * 255).round().long(), found["labels"], strict=True):
            counts = image.flatten().bincount(minlength=13)[1:]
            assert (counts <= 64 * target + 1e-3).all()  # less where the black border came in
            assert counts.sum() >= 64 - 2 * 15
            shares |= {round(share, 3) for share in target.tolist()}
    assert len(shares) > 4


def test_smoothed_targets_are_those_of_cross_entropy(digits):
    pytest.importorskip("timm")
    targets = batch(training_examples(digits, MIXED), range(8))["labels"]
    assert targets.min().item() == pytest.approx(0.1 / 10)
    assert F.cross_entropy(torch.zeros(8, 10), targets).item() == pytest.approx(np.log(10), rel=1e-5)


def test_an_odd_number_of_images_cannot_be_mixed(digits):
    pytest.importorskip("timm")
    with pytest.raises(ValueError, match="batch: found 7 images, allowed an even number"):
        batch(training_examples(digits, MIXED), range(7))
    assert len(batch(training_examples(digits, LIGHT), range(7))["labels"]) == 7


def test_images_that_are_not_square_need_a_size():
    pytest.importorskip("timm")
    oblong = replace(numbered(4), images=np.zeros((4, 40, 50, 3), dtype=np.uint8))
    for make in (training_examples, evaluation_examples):
        with pytest.raises(ValueError, match="size: found None for images of 40 x 50 pixels"):
            make(oblong, RECIPES["deit"])
        with pytest.raises(ValueError, match="size: found 0, allowed a whole number"):
            make(oblong, RECIPES["deit"], size=0)
        assert batch(make(oblong, RECIPES["deit"], size=36), range(2))["x"].shape[1:] == (3, 36, 36)
