"""Images in folders and on the hub: which part is for what, and the forms that are refused."""

import pickle
import sys
from dataclasses import replace

import numpy as np
import pytest

from image_kit import encoded, reds_of, rgb
from wavy.data import DataUnavailable
from wavy.data.images import SPLITS, hub_images, imagenet, load_images


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("WAVY_CACHE", str(tmp_path / "cache"))


# --- folders and ImageNet --------------------------------------------------------------------------------------------


@pytest.fixture
def tree(tmp_path):
    """A function that writes a folder of images: part -> class -> red values."""
    pytest.importorskip("torchvision")

    def write(parts, root=tmp_path / "birds"):
        for part, classes in parts.items():
            for name, reds in classes.items():
                (root / part / name).mkdir(parents=True)
                for red in reds:
                    (root / part / name / f"{red:03}.png").write_bytes(encoded(rgb(red, size=(5, 3))))
        return root

    return write


def test_a_folder_with_train_and_val_is_tested_on_val(tree):
    root = tree({"train": {"jay": range(10), "owl": range(10, 20)}, "val": {"jay": [50], "owl": [60]}})
    train, validation, test = (load_images(root, split) for split in SPLITS)
    assert reds_of(train) | reds_of(validation) == {red: red // 10 for red in range(20)}
    assert (len(train), np.bincount(validation.labels).tolist(), reds_of(test)) == (18, [1, 1], {50: 0, 60: 1})
    assert (test.classes, test.name, test.images[0].shape) == (("jay", "owl"), "birds", (3, 5, 3))
    assert len(load_images(str(root), "train")) == 18


def test_a_folder_with_all_three_is_taken_as_it_is(tree):
    root = tree({part: {"jay": [red], "owl": [red + 1]} for part, red in (("train", 1), ("val", 3), ("test", 5))})
    assert [reds_of(load_images(root, split)) for split in SPLITS] == [{1: 0, 2: 1}, {3: 0, 4: 1}, {5: 0, 6: 1}]


@pytest.mark.parametrize(
    ("parts", "split", "message"),
    [
        ({"train": {"jay": [1]}}, "test", "birds/val: .*(No such|Couldn't find)"),
        ({"train": {"jay": []}, "val": {"jay": [1]}}, "train", "birds/train: Found no valid file for the classes jay"),
        ({"train": {"jay": [1]}, "val": {"owl": [1]}}, "test", "found 1 classes, allowed the 1 of train"),
    ],
)
def test_a_folder_in_another_form_is_one_clear_line(tree, parts, split, message):
    with pytest.raises(ValueError, match=message) as caught:
        load_images(tree(parts), split)
    assert "\n" not in str(caught.value)


def test_imagenet_is_taken_from_a_folder_in_wavy_data(tree, tmp_path, monkeypatch):
    tree({"train": {"n0": range(150), "n1": range(150)}, "val": {"n0": [9], "n1": [8]}}, tmp_path / imagenet.FOLDER)
    monkeypatch.setenv("WAVY_DATA", str(tmp_path))
    train, validation, test = (load_images("imagenet", split) for split in SPLITS)
    assert (len(train), len(validation), reds_of(test)) == (297, 3, {9: 0, 8: 1})
    assert (train.name, train.source) == ("imagenet", "$WAVY_DATA")


# --- the hub ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def small_hub(tmp_path, monkeypatch):
    """The hub's form of 20 training and 2 test images: Parquet files in a folder, known under both names."""
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    monkeypatch.delenv("WAVY_DATA", raising=False)
    for name, known in hub_images.SETS.items():
        root = tmp_path / name
        root.mkdir()
        for split, count in (("train", 20), (known.test, 2)):
            rows = {known.column: [rgb(10 * k) for k in range(count)], "label": [k % 2 for k in range(count)]}
            features = {known.column: datasets.Image(), "label": datasets.ClassLabel(names=["even", "odd"])}
            table = datasets.Dataset.from_dict(rows, features=datasets.Features(features))
            table.to_parquet(root / f"{split}-00000-of-00001.parquet")
        monkeypatch.setitem(hub_images.SETS, name, replace(known, repository=str(root)))
    yield
    datasets.enable_progress_bars()


@pytest.mark.parametrize("name", ["cifar10", "imagenet"])
def test_what_is_nowhere_else_comes_from_the_hub(small_hub, name):
    train, validation, test = (load_images(name, split) for split in SPLITS)
    expected = {10 * k: k % 2 for k in range(20)}
    assert reds_of(train) | reds_of(validation) == expected
    assert len(train) == 20 - len(validation)
    assert reds_of(test) == {0: 0, 10: 1}
    assert (train.classes, train.name, train.source) == (("even", "odd"), name, hub_images.SETS[name].repository)
    assert reds_of(pickle.loads(pickle.dumps(train))) == reds_of(train)


@pytest.mark.parametrize(("extra", "hint"), [("PIL.Image", "hosts"), ("torchvision.datasets", "hosts")])
def test_a_missing_package_is_named(tree, monkeypatch, extra, hint):
    root = tree({"train": {"jay": [1, 2]}, "val": {"jay": [3]}})
    monkeypatch.setitem(sys.modules, extra.partition(".")[0], None)
    monkeypatch.delitem(sys.modules, extra, raising=False)
    with pytest.raises(DataUnavailable, match=rf'pip install "wavy\[{hint}\]"'):
        load_images(root, "test").images[0]
