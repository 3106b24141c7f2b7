"""How long each notebook ran when its reference was made: ``notebooks/run_times.json``, seconds by name.

The times stand beside the references and not in them, since a reference made twice is the same to the byte.
"""

from __future__ import annotations

import json
from pathlib import Path

from wavy.companion.paths import Layout, write_atomically


def read_run_times(layout: Layout) -> dict[str, int]:
    """Seconds of the last ``wavy reference`` by the notebook's name; empty where there was none."""
    path = _file(layout)
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def record_run_time(layout: Layout, name: str, seconds: float) -> None:
    """Keep the whole seconds, at least one, that notebook ``name`` ran; forget notebooks that are no more."""
    times = read_run_times(layout) | {name: max(1, round(seconds))}
    kept = {key: times[key] for key in layout.names() if key in times}
    write_atomically(_file(layout), json.dumps(kept, indent=2, sort_keys=True) + "\n")


def _file(layout: Layout) -> Path:
    return layout.notebooks / "run_times.json"
