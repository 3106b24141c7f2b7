"""``python -m wavy.companion.gpu.merge OUT/rows.tar.gz``: add the rows that came back to ``results/``."""

from __future__ import annotations

import sys
from pathlib import Path

from wavy.companion.gpu.parcel import merge
from wavy.companion.paths import Layout

if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: python -m wavy.companion.gpu.merge OUT/rows.tar.gz")
    for archive in sys.argv[1:]:
        try:
            gained = merge(Path(archive), Layout.find().root / "results")
        except (OSError, ValueError) as error:
            sys.exit(str(error))
        for name, count in gained.items():
            print(f"{name}: {count} new rows")
