"""The untrained model of a run on images."""

from __future__ import annotations

from torch import nn

from wavy.checks import check_divisor
from wavy.experiments.deit_run import KINDS, DeitRun
from wavy.loading.timm_models import timm_with_wavy
from wavy.training.precision import seeded

#: timm's name of each model; all its sizes are the run's.
NAMES = {"deit": "wavy_deit_tiny_patch16_224", "cait": "wavy_cait_xxs24_224"}


def build_image_model(run: DeitRun, num_classes: int, size: int) -> nn.Module:
    """The untrained model of a run; the same run always gives the same weights.

    Args:
        run: the parameters.
        num_classes: C.
        size: side of the images in pixels.

    Raises:
        ValueError: it is no multiple of the side of a patch.
    """
    check_divisor("patch_size", run.patch_size, "the side of the images", size)
    options = {
        "img_size": size,
        "patch_size": run.patch_size,
        "embed_dim": run.dim,
        "num_heads": run.heads,
        "num_classes": num_classes,
        "drop_path_rate": run.drop_path,
    }
    return seeded(lambda: _build(run, options), run.seed, run.precision)


def _build(run: DeitRun, options: dict[str, object]) -> nn.Module:
    if run.residual not in KINDS:
        from wavy.remedies.vision import build_vision_remedy  # noqa: PLC0415 (an extra)

        return build_vision_remedy(run.residual, run.depth, **options)
    wave = {"residual": run.residual, "tau": run.tau, "theta_init": run.theta_init or 0.0}
    wave |= {"featscale": run.featscale, "velocity_mlp": run.velocity_mlp}
    return timm_with_wavy().create_model(NAMES[run.model], depth=run.depth, **options, **wave)
