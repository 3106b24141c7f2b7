"""The training recipe of an image run, and which parts of a batch fit its augmentation."""

from __future__ import annotations

from wavy.experiments.deit_run import DeitRun
from wavy.training.augment import RECIPES
from wavy.training.loop import Recipe
from wavy.training.loop.processes import launched
from wavy.training.precision import mixed_precision


def epoch_steps(run: DeitRun, images: int) -> int:
    """Steps of an epoch; of repeated augmentation each image counts as many times as it has versions."""
    return max(1, round(images / run.batch_size))


def deit_recipe(run: DeitRun, images: int) -> Recipe:
    """The training recipe of a run on so many images; its batches count images, not their versions."""
    epoch = epoch_steps(run, images)
    return Recipe(
        steps=run.epochs * epoch,
        batch_size=run.batch_size // RECIPES[run.augmentation].repeats,
        lr=run.lr,
        weight_decay=run.weight_decay,
        schedule="cosine",
        warmup=min(round(run.warmup_epochs * epoch), run.epochs * epoch - 1),
        clip=run.clip,
        precision=mixed_precision(run.precision),
        seed=run.seed,
    )


def images_at_once(most: int | None, repeats: int, mixed: bool) -> int | None:
    """Images of which ``most`` versions, or fewer, pass the model at once; evenly many where they are mixed."""
    if most is None:
        return None
    least = 2 if mixed and repeats % 2 else 1
    images = max(most // repeats, least)
    return images - images % least


def check_even(recipe: Recipe, repeats: int, mixed: bool) -> None:
    """Raise ValueError where mixup, which mixes versions in pairs, would get an odd number of them."""
    images, processes = recipe.batch_size, launched()
    if mixed and images // processes * repeats % 2:
        raise ValueError(
            f"batch_size: found {images * repeats} versions of images for {processes} processes, "
            "allowed as many as give each of them an even number, since mixup takes them in pairs"
        )
