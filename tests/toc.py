"""The pages of the book in their order, as _toc.yml lists them."""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from conftest import ROOT


def pages_in_toc() -> list[str]:
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    return [toc["root"], *(page for part in toc["parts"] for page in _files(part["chapters"]))]


def _files(entries: list[dict]) -> Iterator[str]:
    for entry in entries:
        yield entry["file"]
        yield from _files(entry.get("sections", []))
