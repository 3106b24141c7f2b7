"""Changes of images: windows and mirror images of what was there, DeiT's steps, and no chance but the generators'."""

import random
import sys

import numpy as np
import pytest
import torch

from wavy.training.augment import RECIPES, Augmentation, evaluation_changes, training_changes
from wavy.training.image_transforms import ImageTransform

MEAN, STD = (0.5, 0.4, 0.3), (0.2, 0.3, 0.25)
RNG = np.random.RandomState(0)


def pictures(size, count=6, height=None):
    return [RNG.randint(0, 256, (height or size, size, 3), dtype=np.uint8) for _ in range(count)]


def seed(number):
    random.seed(number)
    np.random.seed(number)
    torch.manual_seed(number)


def changed(changes, images):
    return changes.batch(torch.stack([changes.image(image) for image in images]))


def unscaled(pixels):
    """The bytes (B, H, W, 3) that give these scaled pixels."""
    mean, std = (torch.tensor(numbers).view(3, 1, 1) for numbers in (MEAN, STD))
    return ((pixels * std + mean) * 255).round().permute(0, 2, 3, 1).numpy()


def deit(size, mirrors=True):
    pytest.importorskip("timm")
    return training_changes(RECIPES["deit"], size, MEAN, STD, mirrors)


def steps(changes):
    return changes.image.transform.transforms


# --- whole batches ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [8, 32])
def test_the_light_recipe_gives_windows_of_the_padded_image_or_of_its_mirror_image(size):
    images = pictures(size, 200)
    padding = size // 8
    seed(0)
    pixels = changed(training_changes(RECIPES["light"], size, MEAN, STD, mirrors=True), images)
    assert (pixels.shape, pixels.dtype, pixels.is_contiguous()) == ((200, 3, size, size), torch.float32, True)
    seen = set()
    for image, found in zip(images, unscaled(pixels), strict=True):
        padded = np.pad(image, ((padding, padding), (padding, padding), (0, 0)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (size, size), (0, 1)).transpose(0, 1, 3, 4, 2)
        either = np.stack([windows, windows[..., ::-1, :]])
        (place,) = np.argwhere((either == found).all(axis=(-3, -2, -1))).tolist()
        seen.add(tuple(place))
    mirrored, tops, lefts = (set(places) for places in zip(*seen, strict=True))
    assert (mirrored, tops, lefts) == ({0, 1}, *[set(range(2 * padding + 1))] * 2)


def test_nothing_is_mirrored_where_that_changes_the_class():
    images = [np.tile(np.arange(8, dtype=np.uint8)[None, :, None] + 1, (8, 1, 3))] * 300
    light = training_changes(RECIPES["light"], 8, MEAN, STD, mirrors=False)
    columns = unscaled(changed(light, images))[:, 4, 2:6, 0]
    assert (np.diff(columns, axis=1) == 1).all()
    assert "Flip" in str(steps(deit(8)))
    assert "Flip" not in str(steps(deit(8, mirrors=False)))


@pytest.mark.parametrize("size", [8, 32])
def test_a_whole_batch_is_scaled_as_torchvision_scales_each_image(size):
    transforms = pytest.importorskip("torchvision.transforms")
    images = pictures(size)
    reference = transforms.Compose([transforms.ToTensor(), transforms.Normalize(MEAN, STD)])
    for recipe in RECIPES.values():
        found = changed(evaluation_changes(recipe, size, MEAN, STD), images)
        one_by_one = ImageTransform(reference, size)
        torch.testing.assert_close(found, torch.stack([one_by_one(image) for image in images]))


def test_the_plain_recipe_changes_nothing():
    images = pictures(8)
    for changes in (
        training_changes(RECIPES["plain"], 8, MEAN, STD, mirrors=True),
        evaluation_changes(RECIPES["plain"], 8, MEAN, STD),
    ):
        assert (unscaled(changed(changes, images)) == np.stack(images)).all()


@pytest.mark.parametrize("recipe", RECIPES)
def test_small_images_of_another_size_are_refused(recipe):
    pytest.importorskip("timm")
    for changes in (
        training_changes(RECIPES[recipe], 32, MEAN, STD, mirrors=True),
        evaluation_changes(RECIPES[recipe], 32, MEAN, STD),
    ):
        with pytest.raises(ValueError, match="images: found one of 24 x 32 pixels, allowed 32 x 32"):
            changed(changes, [*pictures(32), *pictures(32, height=24)])


# --- DeiT's recipe ---------------------------------------------------------------------------------------------------


def names(changes):
    return [type(step).__name__ for step in steps(changes)]


def test_deit_has_the_steps_of_its_code():
    large, small = deit(224), deit(32)
    first, *rest = names(large)
    assert first == "RandomResizedCropAndInterpolation"
    assert rest == ["RandomHorizontalFlip", "RandAugment", "MaybeToTensor", "Normalize", "RandomErasing"]
    assert names(small) == ["RandomCrop", *rest]
    assert (steps(small)[0].size, steps(small)[0].padding) == ((32, 32), 4)
    erasing, policy = steps(large)[-1], steps(large)[2]
    assert (erasing.probability, erasing.per_pixel, erasing.max_count) == (0.25, True, 1)
    assert (policy.num_layers, len(policy.ops)) == (2, 15)
    assert {(step.magnitude, step.magnitude_std, step.prob) for step in policy.ops} == {(9, 0.5, 0.5)}
    assert names(evaluation_changes(RECIPES["deit"], 224, MEAN, STD))[:2] == ["Resize", "CenterCrop"]


def test_deit_for_judging_takes_the_middle_seven_eighths():
    pytest.importorskip("timm")
    image = np.zeros((64, 64, 3), dtype=np.uint8)
    image[:3], image[-3:], image[:, :3], image[:, -3:] = 255, 255, 255, 255  # a frame that the crop leaves out
    found = unscaled(changed(evaluation_changes(RECIPES["deit"], 56, MEAN, STD), [image]))
    assert found.shape == (1, 56, 56, 3)
    assert not found.any()


@pytest.mark.parametrize("recipe", ["light", "deit"])
@pytest.mark.parametrize("size", [8, 32, 48])
def test_changes_depend_on_the_generators_alone(recipe, size):
    pytest.importorskip("timm")
    images = pictures(size, 1) * 24
    changes = training_changes(RECIPES[recipe], size, MEAN, STD, mirrors=True)
    seed(0)
    pixels, following = changed(changes, images), changed(changes, images)
    seed(0)
    again = training_changes(RECIPES[recipe], size, MEAN, STD, mirrors=True)
    assert torch.equal(changed(again, images), pixels)
    assert (pixels.shape, bool(pixels.isfinite().all())) == ((24, 3, size, size), True)
    assert len({bytes(image.numpy()) for image in pixels}) > 8  # of 18 that shifts by one pixel and mirrors can make
    assert not torch.equal(following, pixels)


def test_every_strength_of_rand_augment_works_and_no_bits_are_black():
    policy = steps(deit(32))[2]
    image = pytest.importorskip("PIL.Image").fromarray(pictures(32, 1)[0])
    for step in policy.ops:
        step.prob, step.magnitude_std = 1.0, 0
        for step.magnitude in (0, 5, 9, 10):
            assert step(image).size == image.size
    (posterize,) = (step for step in policy.ops if step.name == "PosterizeIncreasing")
    posterize.magnitude = 10
    assert not np.asarray(posterize(image)).any()
    posterize.magnitude = 9
    assert (np.asarray(posterize(image)) == np.asarray(image) & 0b10000000).all()


def test_the_quick_way_is_taken_where_it_can_be():
    pytest.importorskip("timm")
    light = training_changes(RECIPES["light"], 64, MEAN, STD, mirrors=True)
    assert light.image(pictures(64, 1)[0]).dtype == torch.uint8
    for recipe, size in ((RECIPES["deit"], 32), (Augmentation(erase=0.1), 32), (Augmentation(resize=True), 64)):
        one_by_one = training_changes(recipe, size, MEAN, STD, mirrors=True)
        assert one_by_one.image(pictures(size, 1)[0]).dtype == torch.float32


def test_without_timm_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(ValueError, match=r'pip install "wavy\[hosts\]"'):
        training_changes(RECIPES["deit"], 32, MEAN, STD, mirrors=True)
    training_changes(RECIPES["light"], 32, MEAN, STD, mirrors=True)
