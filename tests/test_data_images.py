"""Images by name: counted, cut into the same parts for everybody, decoded when looked at, checked where they can be."""

import io
import os
import pickle
import runpy
import sys
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from image_kit import Image, encoded, rgb
from wavy.data import DataUnavailable, images, lookup
from wavy.data.images import NAMES, SPLITS, folder, hub_images, imagenet, lazy, load_images, packed
from wavy.data.images.image_data import ImageData, training_part
from wavy.data.images.lazy import LazyImages, stack

RAW = Path(os.environ.get("WAVY_DATA", ""), "images")
needs_raw = pytest.mark.skipif(not (RAW / "cifar10").is_dir(), reason="WAVY_DATA names no folder with images/")
SIZES = {"cifar10": (45000, 5000, 10000), "tiny_imagenet100": (36000, 4000, 5000)}
SIDES = {"cifar10": 32, "tiny_imagenet100": 64}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("WAVY_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def no_data(monkeypatch):
    monkeypatch.delenv("WAVY_DATA", raising=False)


def data_of(labels, mirrors=True):
    pixels = np.arange(len(labels), dtype=np.uint8)[:, None, None, None] * np.ones((1, 2, 2, 3), dtype=np.uint8)
    scale = (0.5, 0.5, 0.5)
    return ImageData("any", "train", pixels, np.array(labels), ("a", "b"), scale, scale, mirrors, "here")


# --- digits ----------------------------------------------------------------------------------------------------------


def test_digits_need_nothing_and_are_those_of_scikit_learn(no_data):
    parts = [load_images("digits", split) for split in SPLITS]
    assert [len(part) for part in parts] == [1293, 144, 360]
    found = np.concatenate([part.images for part in parts])
    assert (found.shape, found.dtype) == ((1797, 8, 8, 3), np.uint8)
    known = np.rint(load_digits().images * 255 / 16).astype(np.uint8)
    assert sorted(map(bytes, found[..., 0])) == sorted(map(bytes, known))  # each once: the parts do not overlap
    assert (found == found[..., :1]).all()


def test_every_part_of_digits_has_all_classes_in_equal_shares(no_data):
    for split in SPLITS:
        data = load_images("digits", split)
        counts = np.bincount(data.labels)
        assert counts.max() - counts.min() <= 0.15 * counts.mean()
        assert np.abs(np.diff(data.labels)).mean() > 2  # in random order
        assert data.classes[data.labels[0]] == str(data.labels[0])


def test_a_digit_has_no_mirror_image(no_data):
    assert not load_images("digits", "train").mirrors


def test_mean_and_deviation_of_digits(no_data):
    data = load_images("digits", "train")
    assert data.mean[0] == pytest.approx((data.images / 255).mean(), abs=5e-5)
    assert data.std[0] == pytest.approx((data.images / 255).std(), abs=5e-5)


# --- CIFAR-10 and Tiny-ImageNet --------------------------------------------------------------------------------------


@needs_raw
@pytest.mark.parametrize("name", SIZES)
def test_counts_and_classes_of_the_packed_sets(name):
    for split, size in zip(SPLITS, SIZES[name], strict=True):
        data = load_images(name, split)
        assert (len(data), len(data.images), data.labels.dtype) == (size, size, np.int64)
        assert (np.bincount(data.labels) == size // len(data.classes)).all()
        side = SIDES[name]
        assert (data.images[0].shape, data.images[0].dtype) == ((side, side, 3), np.uint8)
        assert (data.name, data.split, data.source) == (name, split, "$WAVY_DATA")


@needs_raw
@pytest.mark.parametrize("name", SIZES)
def test_training_and_validation_share_no_image_and_are_shuffled(name):
    train, validation = (load_images(name, split) for split in ("train", "validation"))
    chosen = np.concatenate([train.images.chosen, validation.images.chosen])
    assert len(np.unique(chosen)) == len(chosen) == sum(SIZES[name][:2])
    assert len(set(train.labels[:20])) < 20  # the files stand as 0, 1, 2, ...
    assert not (np.diff(train.images.chosen) > 0).all()


@needs_raw
@pytest.mark.parametrize("name", SIZES)
def test_mean_and_deviation_of_the_packed_sets(name):
    data = load_images(name, "train").sample(500)
    pixels = stack(data.images).reshape(500, -1, 3) / 255
    image_means = pixels.mean(axis=1)
    error = image_means.std(axis=0) / 500**0.5
    assert (np.abs(image_means.mean(axis=0) - data.mean) < 4 * error).all()
    assert pixels.std(axis=(0, 1)) == pytest.approx(data.std, abs=0.015)


@needs_raw
def test_names_of_classes_belong_to_the_labels():
    assert load_images("cifar10", "test").classes[:3] == ("airplane", "automobile", "bird")
    tiny = load_images("tiny_imagenet100", "validation")
    assert tiny.classes[0] == "goldfish, Carassius auratus"
    goldfish = stack(tiny.take(np.flatnonzero(tiny.labels == 0)).images)
    assert goldfish[..., 0].mean() > goldfish[..., 2].mean() + 20  # orange


@needs_raw
def test_the_subset_of_ten_thousand_is_balanced_and_always_the_same():
    data = load_images("cifar10", "train")
    part = data.sample(10_000)
    assert (np.bincount(part.labels) == 1000).all()
    assert (part.images.chosen == load_images("cifar10", "train").sample(10_000).images.chosen).all()
    assert set(part.images.chosen) <= set(data.images.chosen)


@needs_raw
def test_a_grey_image_of_tiny_imagenet_has_three_channels():
    data = load_images("tiny_imagenet100", "test")
    grey = next(k for k in range(len(data)) if Image.open(io.BytesIO(data.images.files[k])).mode == "L")
    assert data.images[grey].shape == (64, 64, 3)


def write_packed(root, monkeypatch):
    """Four training images in two files, one for testing, and names, all with checksums of their own."""
    known = packed.PackedSet(("images/a0.npz", "images/a1.npz"), "images/t.npz", "images/n.tsv", (0.5,) * 3, (0.2,) * 3)
    contents = {"images/n.tsv": b"0\tn0\tred\n1\tn1\tgreen\n"}
    for path, numbers in (("images/a0.npz", (10, 20)), ("images/a1.npz", (30, 40)), ("images/t.npz", (50,))):
        files = [encoded(rgb(number)) for number in numbers]
        arrays = {
            "jpeg": np.frombuffer(b"".join(files), np.uint8),
            "offsets": np.cumsum([0, *map(len, files)]),
            "labels": np.array(numbers, np.uint8) // 10 % 2,
        }
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)
        contents[path] = buffer.getvalue()
    (root / "images").mkdir(parents=True)
    for path, content in contents.items():
        (root / path).write_bytes(content)
    monkeypatch.setenv("WAVY_DATA", str(root))
    monkeypatch.setitem(packed.SETS, "tiny_imagenet100", known)
    monkeypatch.setattr(lookup, "checksums", lambda: {path: sha256(c).hexdigest() for path, c in contents.items()})


def test_packed_parts_are_joined_with_their_labels(tmp_path, monkeypatch):
    write_packed(tmp_path / "data", monkeypatch)
    train, validation, test = (load_images("tiny_imagenet100", split) for split in SPLITS)
    assert (len(train), len(validation), len(test)) == (3, 1, 1)
    reds = [
        (int(data.images[k][0, 0, 0]), int(data.labels[k])) for data in (train, validation) for k in range(len(data))
    ]
    assert sorted(reds) == [(10, 1), (20, 0), (30, 1), (40, 0)]
    assert (test.images[0][0, 0, 0], test.labels.tolist(), test.classes) == (50, [1], ("red", "green"))


def test_a_changed_packed_file_is_not_used(tmp_path, monkeypatch):
    write_packed(tmp_path / "data", monkeypatch)
    (tmp_path / "data/images/a1.npz").write_bytes(b"changed")
    with pytest.raises(DataUnavailable, match=r"a1\.npz has a wrong sha256"):
        load_images("tiny_imagenet100", "train")
    assert len(load_images("tiny_imagenet100", "test")) == 1  # which needs no training file


# --- images that stay files ------------------------------------------------------------------------------------------


def test_lazy_images_are_what_their_files_show_however_they_are_chosen():
    whole = LazyImages([encoded(rgb(number)) for number in (10, 20, 30, 40)])
    reds = lambda some: stack(some)[:, 0, 0, 0].tolist()  # noqa: E731
    assert reds(whole) == [10, 20, 30, 40]
    assert reds(whole[np.array([3, 1])][np.array([1, 0, 0])]) == [20, 40, 40]
    assert reds(whole[1:3]) == [20, 30]
    assert (whole[-1] == whole[np.int64(3)]).all()
    assert reds(pickle.loads(pickle.dumps(whole[1:]))) == [20, 30, 40]
    with pytest.raises(IndexError):
        whole[4]


@pytest.mark.parametrize("mode", ["L", "P", "RGBA", "1", "CMYK"])
def test_every_kind_of_image_becomes_rgb(mode):
    content = encoded(rgb(255, 255, 255).convert(mode), "TIFF")
    assert (LazyImages([content])[0] == np.full((4, 4, 3), 255, dtype=np.uint8)).all()


def test_what_is_no_image_is_one_clear_line():
    with pytest.raises(ValueError, match=r"image: found \d+ bytes that are no image") as caught:
        LazyImages([b"no image"])[0]
    assert "\n" not in str(caught.value)


def test_decoded_images_are_the_same():
    data = data_of([0, 1, 0])
    files = LazyImages([encoded(Image.fromarray(pixels)) for pixels in data.images])
    lazily = ImageData(**{**vars(data), "images": files})
    assert (lazily.decoded().images == data.images).all()
    assert data.decoded().images is data.images


# --- parts -----------------------------------------------------------------------------------------------------------


def test_parts_keep_images_and_labels_together():
    data = data_of([0] * 40 + [1] * 20)
    parts = [training_part(data, split, 0.1) for split in ("train", "validation")]
    assert [np.bincount(part.labels).tolist() for part in parts] == [[36, 18], [4, 2]]
    assert sorted(np.concatenate([part.images[:, 0, 0, 0] for part in parts])) == list(range(60))
    for part in (*parts, data.sample(9)):
        assert (part.labels == data.labels[part.images[:, 0, 0, 0]]).all()
    assert np.bincount(data.sample(9).labels).tolist() == [6, 3]


def test_a_sample_has_no_more_than_there_are():
    with pytest.raises(ValueError, match="count: found 4, allowed 1 to 3"):
        data_of([0, 1, 0]).sample(4)


# --- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"digits"}))
def test_without_data_the_error_says_what_to_do(no_data, monkeypatch, name):
    def fail(*_, **__):
        raise DataUnavailable("the hub is not asked here")

    monkeypatch.setattr(hub_images, "load_from_hub", fail)
    with pytest.raises(DataUnavailable, match=r"et WAVY_DATA|images/imagenet") as caught:
        load_images(name, "train")
    assert "\n" not in str(caught.value)
    assert ("the hub is not asked here" in str(caught.value)) == (name != "tiny_imagenet100")


def test_wrong_names_are_one_clear_line():
    with pytest.raises(ValueError, match=r"name: found 'cifar', allowed .*an existing folder; did you mean 'cifar10'"):
        load_images("cifar", "train")
    for name in (5, "", None):
        with pytest.raises(ValueError, match=f"^name: found {name!r}, allowed digits, .* or an existing folder$"):
            load_images(name, "train")
    with pytest.raises(ValueError, match="split: found 'val', allowed train, validation, test"):
        load_images("digits", "val")


@pytest.mark.parametrize("module", [images, folder, hub_images, imagenet, lazy, packed])
def test_importing_needs_no_extra(monkeypatch, module):
    for extra in ("datasets", "torchvision", "PIL", "PIL.Image"):
        monkeypatch.setitem(sys.modules, extra, None)
    runpy.run_path(module.__file__)
