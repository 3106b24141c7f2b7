"""Whoever falsifies a committed notebook is caught by plain ``pytest --nbval``; the notebook as committed passes.

Real notebooks take a minute to run, so here nbval gets their own recorded outputs instead of a kernel's
(``replay_kernel``). ``test_tamper_kernel.py`` does the same once with a real kernel.
"""

from __future__ import annotations

import copy
import shutil
from pathlib import Path

import nbformat
import pytest

from notebook_kit import ROOT, commit, nbval, put_config
from tampering import TAMPERINGS, NotApplicableError
from wavy.companion.paths import Layout

REAL = Layout(ROOT / "notebooks")
NAMES = sorted(path.stem for path in REAL.notebooks.glob("*.ipynb"))


def copy_to(folder: Path, name: str, tamper=lambda nb: None) -> bool:
    """Put a notebook with its source and its recording into ``folder``; return whether the tampering applied."""
    recording = nbformat.read(REAL.reference(name), 4)
    nb = copy.deepcopy(recording)
    try:
        tamper(nb)
    except NotApplicableError:
        return False
    folder.mkdir(parents=True)
    shutil.copy(REAL.source(name), folder)
    commit(Layout(folder), name, nb)
    nbformat.write(recording, folder / "recording.json")
    assert tamper.__name__ == "<lambda>" or nb != recording
    return True


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """Run nbval once over all notebooks in all falsified versions."""
    folder = tmp_path_factory.mktemp("tamper")
    put_config(folder)
    for name in NAMES:
        copy_to(folder / f"{name}-untampered", name)
        for tampering, tamper in TAMPERINGS.items():
            copy_to(folder / f"{name}-{tampering}", name, tamper)
    return nbval(folder, "-p", "replay_kernel")


@pytest.mark.parametrize("name", NAMES)
def test_the_committed_notebook_passes(outcomes, name):
    assert set(outcomes[f"{name}-untampered"].values()) == {"passed"}


@pytest.mark.parametrize("tampering", TAMPERINGS)
@pytest.mark.parametrize("name", NAMES)
def test_a_falsified_notebook_fails(outcomes, name, tampering):
    if f"{name}-{tampering}" not in outcomes:
        pytest.skip(f"{name} has nothing to falsify in this way; test_tamper_kernel.py covers it")
    before, after = outcomes[f"{name}-untampered"], outcomes[f"{name}-{tampering}"]
    assert [item for item, outcome in after.items() if outcome != "passed" and outcome != before[item]]
