"""The command ``wavy diagnose``: layer profiles of models by name or path. Imports are late, so that help is quick."""

# ruff: noqa: PLC0415
from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wavy.companion.commands import one_line_errors

if TYPE_CHECKING:
    import pandas as pd

#: What a figure may be written as.
FORMATS = (".png", ".svg", ".pdf")

#: What every generator of random numbers takes.
MAX_SEED = 2**32 - 1


def diagnose(
    model: Annotated[
        str, typer.Argument(metavar="NAME_OR_PATH", help="A name of timm's, a folder, or a cached model.")
    ],
    images: Annotated[Path | None, typer.Option(help="A folder of images.")] = None,
    text: Annotated[Path | None, typer.Option(help="A text file in UTF-8.")] = None,
    graph: Annotated[str | None, typer.Option(help="A graph by name, such as cora or digits.")] = None,
    random: Annotated[bool, typer.Option("--random", help="Random weights instead of trained ones.")] = False,
    p: Annotated[
        list[str] | None, typer.Option("-p", metavar="NAME=VALUE", help="An argument of the first model; repeatable.")
    ] = None,
    against: Annotated[str | None, typer.Option(metavar="NAME_OR_PATH", help="A second model to compare with.")] = None,
    limit: Annotated[int, typer.Option(help="The most images, or pieces of text.", min=1)] = 16,
    length: Annotated[int | None, typer.Option(help="Tokens in a piece of text; default 128 at most.")] = None,
    seed: Annotated[int, typer.Option(help="Of all that is drawn.", min=0, max=MAX_SEED)] = 0,
    csv: Annotated[Path | None, typer.Option(help="File to write the table to.")] = None,
    plot: Annotated[Path | None, typer.Option(help="File to draw to: .png, .svg or .pdf.")] = None,
) -> None:
    """Measure over-smoothing layer by layer in any timm, transformers or saved wavy model.

    NAME_OR_PATH is a model of timm's, with pretrained weights unless --random
    is given (wavy_... among them), or a folder that save_pretrained of
    transformers, timm.models.save_for_hf or wavy.loading.save wrote, or a model
    in the local cache of the Hugging Face hub. Without --images, --text or
    --graph it gets a built-in input of its kind.

    A row is the state after a block, means over the inputs. All tokens count,
    a class token among them; none is padding.

    \b
    layer             0 is the first
    module            the block, or the stage of a model of feature maps
    tokens            how many; the positions of a feature map
    cosine            mean cosine of two tokens; 1: all point the same way
    dirichlet_energy  mean squared distance of two tokens; 0: all are equal
    node_variance     variance over the tokens, mean over the channels
    effective_rank    exp of the entropy of the singular values; 1: all parallel
    """
    with _usage_errors():
        import pandas as pd

        from wavy.diagnostics.report import plot_profiles
        from wavy.loading import load_any
        from wavy.samples import Source, sample_for
        from wavy.samples.profile import model_profile

        options, source = _settings(p or []), Source(images, text, graph)
        _check_outputs(csv, plot)
        if against == model and not options:
            raise ValueError(f"--against: found {model} again, allowed another model, or -p for the first")
        asked = [(model, options), (against, {})] if against else [(model, options)]
        profiles: dict[str, pd.DataFrame] = {}
        for name, changes in asked:
            loaded = load_any(name, changes, random, seed)
            sample = sample_for(loaded, source, limit, length, seed)
            profiles[loaded.name] = model_profile(loaded, sample)
            _tell(profiles[loaded.name], sample.left_out)
        try:
            if csv:
                pd.concat(profiles.values()).to_csv(csv, index=False)
            if plot:
                plot_profiles({_label(profile): profile for profile in profiles.values()}).savefig(plot)
        except OSError as error:
            raise ValueError(f"{error.filename}: cannot be written ({error.strerror})") from None


def _tell(profile: pd.DataFrame, left_out: tuple[str, ...]) -> None:
    from wavy.diagnostics.report import profile_table
    from wavy.samples.profile import FACTS

    for file in left_out:
        typer.echo(f"wavy: {file} cannot be read as an image and is left out", err=True)
    model, weights, given = profile.loc[0, FACTS]
    typer.echo(f"{model}, {weights}; {given}")
    typer.echo(f"{profile_table(profile.drop(columns=FACTS))}\n")


def _label(profile: pd.DataFrame) -> str:
    """What the figure calls a model; of a long path it keeps the end."""
    from wavy.samples.profile import FACTS

    model, weights, _ = profile.loc[0, FACTS]
    return f"{model if len(model) <= 60 else '...' + model[-57:]}, {weights.partition(',')[0]}"


def _settings(given: list[str]) -> dict[str, object]:
    """The values by name: JSON or Python literals where they are some, else texts."""
    settings: dict[str, object] = {}
    for setting in given:
        name, equals, text = setting.partition("=")
        if not equals or not name.isidentifier() or name in settings:
            raise ValueError(f"-p: found {setting!r}, allowed NAME=VALUE, each name once")
        settings[name] = _value(text)
    return settings


def _value(text: str) -> object:
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError):
            pass
    return text


def _check_outputs(csv: Path | None, plot: Path | None) -> None:
    """Before a long run, what would spoil its end."""
    for option, path in (("--csv", csv), ("--plot", plot)):
        if path and not path.parent.is_dir():
            raise ValueError(f"{option}: found no folder {path.parent}, allowed a file in a folder that exists")
    if plot and plot.suffix not in FORMATS:
        raise ValueError(f"--plot: found {plot.name}, allowed a name that ends in {', '.join(FORMATS)}")
    if plot:
        import matplotlib  # noqa: F401 (where it is missing, the error says so)


@contextmanager
def _usage_errors() -> Iterator[None]:
    """Errors of one line, as for the other commands, with the status 2 of a wrong call."""
    try:
        with one_line_errors():
            yield
    except typer.Exit:
        raise typer.Exit(2) from None
