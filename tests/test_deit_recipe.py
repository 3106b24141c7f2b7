"""What of a batch passes an image model at once, where images have several versions that are mixed in pairs."""

import pytest

pytest.importorskip("accelerate")
pytest.importorskip("timm")

from wavy.experiments.deit_plans import deit_run
from wavy.training.deit_recipe import check_even, deit_recipe, images_at_once


@pytest.mark.parametrize(
    ("most", "repeats", "mixed", "images"),
    [
        (None, 3, True, None),
        (13, 3, True, 4),
        (2, 3, True, 2),
        (12, 3, False, 4),
        (5, 1, True, 4),
        (5, 1, False, 5),
        (2, 3, False, 1),
    ],
)
def test_versions_count_and_mixed_ones_are_even(most, repeats, mixed, images):
    assert images_at_once(most, repeats, mixed) == images


def test_a_batch_that_cannot_be_mixed_in_pairs_is_refused_before_training(monkeypatch):
    recipe = deit_recipe(deit_run("paper"), 1000)
    for processes in ("1", "8"):
        monkeypatch.setenv("WORLD_SIZE", processes)
        check_even(recipe, 3, mixed=True)
    monkeypatch.setenv("WORLD_SIZE", "16")
    check_even(recipe, 3, mixed=False)
    with pytest.raises(ValueError, match=r"^batch_size: found 1008 versions of images for 16 processes, allowed "):
        check_even(recipe, 3, mixed=True)
