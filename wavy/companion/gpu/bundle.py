"""``python -m wavy.companion.gpu.bundle``: gather what a machine without a network lacks for the studies.

That is wheels of the locked versions for its Python, the data of the studies, and the name of this commit. Packages
that are large or made for a GPU are not carried: the machine must have them, in versions that wavy takes.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterable
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from wavy.companion.environment import locked
from wavy.companion.paths import CompanionError, Layout
from wavy.data.cache import folder_from_env
from wavy.results import REVISION

#: What the studies and their notebooks import beside wavy's own requirements.
ROOTS = ("datasets", "ipykernel", "jupytext", "myst-nb", "papermill", "seaborn")
#: What the machine must have, with all that these need; and what papermill and myst-nb need only for pages and caches.
LEFT = (
    *("torch", "torchvision", "torch-geometric", "timm", "transformers", "accelerate", "tensorboard"),
    *("numpy", "scipy", "pandas", "scikit-learn", "matplotlib", "pyarrow", "pillow"),
    *("debugpy", "jupyter-cache", "sphinx"),
)
#: Files of the studies in $WAVY_DATA.
FILES = ("planetoid/Cora", "images/cifar10", "text/wikitext2", "glue")
PLATFORMS = [f"manylinux{name}_x86_64" for name in ("_2_34", "_2_28", "_2_27", "_2_17", "2014", "1")]
#: The most that a bundle may weigh, in MiB; what a checkout weighs comes on top.
LIMIT = 45


def needed(roots: Iterable[str], python: str, left: Collection[str] = LEFT) -> set[str]:
    """The packages that others need under a version of Python, themselves included, as installed here.

    Those of ``left`` are left out, with what only they need.
    """
    found, todo = set(), [canonicalize_name(root) for root in roots]
    while todo:
        name = todo.pop()
        if name in found or name in left:
            continue
        found.add(name)
        for line in importlib.metadata.requires(name) or ():
            requirement = Requirement(line)
            if not requirement.marker or requirement.marker.evaluate({"extra": "", "python_version": python}):
                todo.append(canonicalize_name(requirement.name))
    return found


def names_in(frozen: str) -> set[str]:
    """The names in a list of requirements, one a line."""
    lines = (line.partition("#")[0].strip() for line in frozen.splitlines())
    return {canonicalize_name(Requirement(line).name) for line in lines if line}


def pins(lock: str, names: Iterable[str]) -> list[str]:
    """The locked versions of packages, as requirements."""
    names = set(names)
    return [f"{name}=={version}" for name, version, _ in locked(lock) if canonicalize_name(name) in names]


def fetch_wheels(requirements: list[str], python: str, folder: Path) -> None:
    """Download wheels for another Python on Linux, without what they need.

    Raises:
        CompanionError: one of them could not be had.
    """
    platforms = [word for platform in PLATFORMS for word in ("--platform", platform)]
    options = ["--quiet", "--no-deps", "--only-binary", ":all:", "--python-version", python, *platforms]
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", str(folder), *requirements]
    if subprocess.run(command, check=False).returncode:
        raise CompanionError("wheels could not be fetched; see above")


def copy_data(data: Path, folder: Path) -> None:
    """Copy the files of the studies."""
    for name in FILES:
        source = data / name
        if not source.exists():
            raise CompanionError(f"WAVY_DATA: found no {name} in {data}")
        if source.is_dir():
            shutil.copytree(source, folder / name, copy_function=shutil.copyfile)
        else:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, folder / name)


def main() -> None:
    """Make the bundle and say what it weighs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--out", type=Path, default=Path("_build/gpu-bundle"), help="folder of the bundle; emptied first"
    )
    parser.add_argument("--python", default="3.12", help="version of the machine")
    parser.add_argument("--have", type=Path, help="names of packages that are there already, as pip freeze prints them")
    given = parser.parse_args()
    data = folder_from_env("WAVY_DATA")
    if data is None:
        raise CompanionError("WAVY_DATA: found nothing, allowed the folder of the data")
    shutil.rmtree(given.out, ignore_errors=True)
    lock = (Layout.find().root / "requirements.lock").read_text(encoding="utf-8")
    have = names_in(given.have.read_text(encoding="utf-8")) if given.have else set()
    carried = needed(["wavy", *ROOTS], given.python) - have
    fetch_wheels(pins(lock, carried), given.python, given.out / "wheels")
    copy_data(data, given.out / "data")
    (given.out / "commit").write_text(REVISION + "\n", encoding="utf-8")
    weight = sum(path.stat().st_size for path in given.out.rglob("*") if path.is_file()) / 2**20
    if weight > LIMIT:
        raise CompanionError(f"bundle: found {weight:.0f} MiB, allowed {LIMIT}")
    print(f"{given.out}: {weight:.0f} MiB, {len(list((given.out / 'wheels').glob('*.whl')))} wheels")


if __name__ == "__main__":
    try:
        main()
    except CompanionError as error:
        sys.exit(f"bundle: {error}")
