"""``environment.yml`` for conda, mamba and Binder, made from ``requirements.lock`` so that both give one environment.

conda cannot check hashes, so the versions alone carry over: ``python -m wavy.companion.environment`` prints the file.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

PYTHON = "3.11"
PINNED = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>\S+)(?: ; (?P<marker>.+?))?(?: \\)?$")


def locked(text: str) -> list[tuple[str, str, str]]:
    """The (name, version, marker) of each package in a lock file; the marker is empty where there is none."""
    found = (PINNED.match(line) for line in text.splitlines())
    return [(match["name"], match["version"], match["marker"] or "") for match in found if match]


def environment(lock: str) -> str:
    """The text of ``environment.yml`` for a lock file's text."""
    (pip,) = (version for name, version, _ in locked(lock) if name == "pip")
    pins = (f"{name}=={version}" + (f" ; {marker}" if marker else "") for name, version, marker in locked(lock))
    lines = [
        "# Made by `make lock` from requirements.lock; do not edit.",
        "name: wavy",
        "channels:",
        "  - conda-forge",
        "dependencies:",
        f"  - python={PYTHON}",
        f"  - pip={pip}",
        "  - pip:",
        *(f'      - "{pin}"' if ";" in pin else f"      - {pin}" for pin in pins),
        "      - --editable .",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(environment(Path("requirements.lock").read_text(encoding="utf-8")))
