"""Changes of images: windows and mirror images of what was there, DeiT's steps, and no chance but that of keys."""

import random
import sys

import numpy as np
import pytest
import torch

from wavy.training.augment import RECIPES, Augmentation, evaluation_transform, training_transform
from wavy.training.image_transforms import ImageByImage, WholeBatch
from wavy.training.seeded import seeded, seeds

MEAN, STD = (0.5, 0.4, 0.3), (0.2, 0.3, 0.25)
RNG = np.random.RandomState(0)


def pictures(size, count=6, height=None):
    return [RNG.randint(0, 256, (height or size, size, 3), dtype=np.uint8) for _ in range(count)]


def keys(count, epoch=0, seed=0):
    return [(seed, epoch, place) for place in range(count)]


def unscaled(pixels):
    """The bytes (B, H, W, 3) that give these scaled pixels."""
    mean, std = (torch.tensor(numbers).view(3, 1, 1) for numbers in (MEAN, STD))
    return ((pixels * std + mean) * 255).round().permute(0, 2, 3, 1).numpy()


def draws():
    return random.random(), np.random.rand(), torch.rand(()).item()


# --- seeds -----------------------------------------------------------------------------------------------------------


def test_a_key_decides_all_generators_and_leaves_them_as_they_were():
    random.seed(1), np.random.seed(1), torch.manual_seed(1)
    expected = [draws(), draws()]
    random.seed(1), np.random.seed(1), torch.manual_seed(1)
    first = draws()
    with seeded(3, 4):
        inside = draws()
    with pytest.raises(KeyError), seeded(5):
        raise KeyError
    assert [first, draws()] == expected
    with seeded(3, 4):
        assert draws() == inside


def test_different_keys_give_different_seeds_also_where_zeros_follow():
    several = [(), (0,), (0, 0), (0, 0, 0), (1,), (1, 0), (0, 1), (1, 0, 0), (2**32,), (2**32 - 1,)]
    assert len({tuple(seeds(key, 3)) for key in several}) == len(several)


# --- whole batches ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [8, 32])
def test_the_light_recipe_gives_windows_of_the_padded_image_or_of_its_mirror_image(size):
    images = pictures(size, 200)
    padding = size // 8
    transform = training_transform(RECIPES["light"], size, MEAN, STD, mirrors=True)
    changed = transform(images, keys(200))
    assert (changed.shape, changed.dtype, changed.is_contiguous()) == ((200, 3, size, size), torch.float32, True)
    seen = set()
    for image, found in zip(images, unscaled(changed), strict=True):
        padded = np.pad(image, ((padding, padding), (padding, padding), (0, 0)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (size, size), (0, 1)).transpose(0, 1, 3, 4, 2)
        either = np.stack([windows, windows[..., ::-1, :]])
        (place,) = np.argwhere((either == found).all(axis=(-3, -2, -1))).tolist()
        seen.add(tuple(place))
    mirrored, tops, lefts = (set(places) for places in zip(*seen, strict=True))
    assert (mirrored, tops, lefts) == ({0, 1}, *[set(range(2 * padding + 1))] * 2)


def test_nothing_is_mirrored_where_that_changes_the_class():
    images = [np.tile(np.arange(8, dtype=np.uint8)[None, :, None] + 1, (8, 1, 3))] * 300
    light = training_transform(RECIPES["light"], 8, MEAN, STD, mirrors=False)
    columns = unscaled(light(images, keys(300)))[:, 4, 2:6, 0]
    assert (np.diff(columns, axis=1) == 1).all()
    deit = training_transform(RECIPES["deit"], 8, MEAN, STD, mirrors=False)
    assert "Flip" not in str(deit.transform)


@pytest.mark.parametrize("size", [8, 32])
def test_a_whole_batch_is_scaled_as_torchvision_scales_each_image(size):
    transforms = pytest.importorskip("torchvision.transforms")
    images = pictures(size)
    reference = transforms.Compose([transforms.ToTensor(), transforms.Normalize(MEAN, STD)])
    for recipe in RECIPES.values():
        found = evaluation_transform(recipe, size, MEAN, STD)(images, keys(6))
        torch.testing.assert_close(found, ImageByImage(reference)(images, keys(6)))


@pytest.mark.parametrize("recipe", RECIPES)
def test_small_images_of_another_size_are_refused(recipe):
    pytest.importorskip("timm")
    transform = training_transform(RECIPES[recipe], 32, MEAN, STD, mirrors=True)
    with pytest.raises(ValueError, match="images: found one of 24 x 32 pixels, allowed 32 x 32"):
        transform([*pictures(32), *pictures(32, height=24)], keys(12))


# --- DeiT's recipe ---------------------------------------------------------------------------------------------------


def names(transform):
    return [type(step).__name__ for step in transform.transform.transforms]


def test_deit_has_the_steps_of_its_code():
    pytest.importorskip("timm")
    large = training_transform(RECIPES["deit"], 224, MEAN, STD, mirrors=True)
    small = training_transform(RECIPES["deit"], 32, MEAN, STD, mirrors=True)
    first, *rest = names(large)
    assert first == "RandomResizedCropAndInterpolation"
    assert rest == ["RandomHorizontalFlip", "RandAugment", "MaybeToTensor", "Normalize", "RandomErasing"]
    assert names(small) == ["RandomCrop", *rest]
    assert (small.transform.transforms[0].size, small.transform.transforms[0].padding) == ((32, 32), 4)
    erasing, policy = large.transform.transforms[-1], large.transform.transforms[2]
    assert (erasing.probability, erasing.per_pixel, erasing.max_count) == (0.25, True, 1)
    assert (policy.num_layers, len(policy.ops)) == (2, 15)
    assert {(step.magnitude, step.magnitude_std, step.prob) for step in policy.ops} == {(9, 0.5, 0.5)}
    assert names(evaluation_transform(RECIPES["deit"], 224, MEAN, STD))[:2] == ["Resize", "CenterCrop"]


def test_deit_for_judging_takes_the_middle_seven_eighths():
    pytest.importorskip("timm")
    image = np.zeros((64, 64, 3), dtype=np.uint8)
    image[:3], image[-3:], image[:, :3], image[:, -3:] = 255, 255, 255, 255  # a frame that the crop leaves out
    found = unscaled(evaluation_transform(RECIPES["deit"], 56, MEAN, STD)([image], keys(1)))
    assert found.shape == (1, 56, 56, 3)
    assert not found.any()


@pytest.mark.parametrize("size", [8, 32, 48])
def test_deit_depends_on_keys_alone(size):
    pytest.importorskip("timm")
    images = pictures(size, 1) * 24
    transform = training_transform(RECIPES["deit"], size, MEAN, STD, mirrors=True)
    torch.manual_seed(1)
    before = draws()
    torch.manual_seed(1)
    changed = transform(images, keys(24))
    assert torch.rand(()).item() == before[2]
    assert (changed.shape, bool(changed.isfinite().all())) == ((24, 3, size, size), True)
    assert len({bytes(image.numpy()) for image in changed}) > 20  # two may end black
    assert torch.equal(transform(images[:5], keys(24)[7:12]), changed[7:12])
    assert not torch.equal(transform(images, keys(24, epoch=1)), changed)
    assert not torch.equal(transform(images, keys(24, seed=1)), changed)


def test_every_strength_of_rand_augment_works_and_no_bits_are_black():
    pytest.importorskip("timm")
    image = pytest.importorskip("PIL.Image").fromarray(pictures(32, 1)[0])
    policy = training_transform(RECIPES["deit"], 32, MEAN, STD, mirrors=True).transform.transforms[2]
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
    assert isinstance(training_transform(RECIPES["light"], 64, MEAN, STD, mirrors=True), WholeBatch)
    for recipe, size in ((RECIPES["deit"], 32), (Augmentation(erase=0.1), 32), (Augmentation(resize=True), 64)):
        assert isinstance(training_transform(recipe, size, MEAN, STD, mirrors=True), ImageByImage)


def test_without_timm_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(ValueError, match=r'pip install "wavy\[hosts\]"'):
        training_transform(RECIPES["deit"], 32, MEAN, STD, mirrors=True)
    training_transform(RECIPES["light"], 32, MEAN, STD, mirrors=True)
