"""On the GPU machine: install the carried wheels of packages that are missing there, then run the studies.

A script of the standard library alone, since what wavy needs may not be there yet::

    python3 wavy/companion/gpu/machine.py --bundle _build/gpu-bundle --out OUT --minutes 9
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def missing(wheels: list[Path]) -> list[Path]:
    """Those of the wheels whose package is not installed here; a package that is there is taken as it is."""
    return [wheel for wheel in wheels if not _installed(wheel.name.partition("-")[0])]


def _installed(name: str) -> bool:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def install(wheels: list[Path], site: Path) -> None:
    """Unpack wheels into a folder, without an index and without what they depend on."""
    if wheels:
        quiet = ["--quiet", "--no-index", "--no-deps", "--no-compile", "--no-cache-dir", "--target", str(site)]
        subprocess.run([sys.executable, "-m", "pip", "install", *quiet, *map(str, wheels)], check=True)


def environment(bundle: Path, site: Path) -> dict[str, str]:
    """The variables of the studies: where packages and data are, no network, one thread a process."""
    paths = [str(site), str(ROOT), os.environ.get("PYTHONPATH", "")]
    commit = bundle / "commit"
    found = dict(os.environ) | {
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "WAVY_CACHE": str(site / "cache"),
    }
    if (bundle / "data").is_dir():
        found["WAVY_DATA"] = str((bundle / "data").resolve())
    if commit.is_file():
        found["WAVY_REVISION"] = commit.read_text(encoding="utf-8").strip()
    return found


def main() -> int:
    """Install and run; returns the exit status of the studies."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--bundle", type=Path, default=ROOT / "_build" / "gpu-bundle", help="what was brought along")
    arguments, rest = parser.parse_known_args()
    if not arguments.bundle.is_dir():
        made = "python -m wavy.companion.gpu.bundle"
        raise SystemExit(f"bundle: found no folder {arguments.bundle}, allowed one that {made} has made")
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder)
        install(missing(sorted((arguments.bundle / "wheels").glob("*.whl"))), site)
        command = [sys.executable, "-m", "wavy.companion.gpu.studies", *rest]
        return subprocess.run(command, env=environment(arguments.bundle, site), cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
