"""What all tests share: reproducible examples, one thread, and the reference data where they are at hand."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import settings

ROOT = Path(__file__).parent.parent
SHARED = Path(os.environ.get("WAVY_SHARED", ROOT.parent / "shared"))

settings.register_profile("wavy", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("wavy")
torch.set_num_threads(1)


@pytest.fixture
def golden():
    """Reader of the reference vectors: ``golden("name")`` has meta, arrays and weights; skips where they are absent."""

    def read(name: str) -> SimpleNamespace:
        path = SHARED / "golden" / f"{name}.npz"
        if not path.exists():
            pytest.skip(f"reference vectors not at hand: {path.name} (set WAVY_SHARED)")
        with np.load(path, allow_pickle=False) as file:
            arrays = {key: torch.from_numpy(file[key]) for key in file.files if key != "meta"}
            meta = json.loads(str(file["meta"]))
        weights = {key[2:]: value for key, value in arrays.items() if key.startswith("w:")}
        return SimpleNamespace(
            meta=meta, weights=weights, **{k: v for k, v in arrays.items() if not k.startswith("w:")}
        )

    return read


@pytest.fixture
def traces(tmp_path):
    """A folder in which the runs of ``sweep_kit`` leave traces."""
    (tmp_path / "traces").mkdir()
    return tmp_path / "traces"


@pytest.fixture
def dask(tmp_path):
    """A Dask scheduler without workers, in a process of its own: ``dask.worker()`` starts one."""
    pytest.importorskip("distributed")
    from cluster_kit import DaskCluster  # noqa: PLC0415

    (tmp_path / "dask").mkdir()
    with DaskCluster(tmp_path / "dask") as found:
        yield found
