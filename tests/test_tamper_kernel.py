"""``pytest --nbval`` with a real kernel, on a small notebook that has everything that can be falsified."""

from __future__ import annotations

import copy
import shutil

import nbformat
import pytest

from notebook_kit import checkout, code, commit, executed, nbval, put_config, stdout
from tampering import TAMPERINGS
from wavy.companion import ledger
from wavy.companion.paths import Layout
from wavy.companion.reference import make_reference

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="
CELLS = [
    code("import base64, os\nfrom IPython.display import HTML, Image, display\nn = 3"),
    code("print('accuracy 0.8151')\nprint('The claim holds.')"),
    code("HTML('<table><tr><td>diffusion</td><td>0.25</td></tr></table>')"),
    code(f"display(Image(base64.b64decode('{PIXEL}')))\nprint('drawn: mean 1.25')"),
    code("print('time', os.getpid() / 1e9, 's')", tolerance="{atol: 1}"),  # differs in each run
    code("from myst_nb import glue\nglue('low', 0.25, display=False)\nglue('high', 0.75, display=False)"),
    code("print('before')\ndisplay(HTML('1.5'))\nprint('behind')"),
]
FAILING = {
    "digit": ("Cell 1", "stdout: 9.8151 became 0.8151"),
    "dropped_output": ("Cell 1", "stdout: unexpected"),
    "added_output": ("Cell 1", "line 3: expected"),
    "cleared": ("reference", "execution count None, not 1"),
    "dropped_count": ("reference", "execution count None, not 7"),
    "swapped_counts": ("reference", "execution count 2, not 1"),
    "table_cell": ("Cell 2", "text/html: line 1"),
    "verdict": ("Cell 1", "does not hold"),
    "stdout_as_stderr": ("Cell 1", "stderr: missing"),
    "figure_summary": ("Cell 3", "became"),
    "figure_without_summary": ("reference", "code cell 4 shows an image but prints no number"),
    "error_output": ("reference", "holds the error ValueError"),
    "edited_code": ("reference", "cell 2 (of all) differs from the source in source"),
    "swapped_glue": ("Cell 5", 'output 1: metadata: expected {"scrapbook": {"mime_prefix": '),
    "dropped_glue_name": ("Cell 5", "output 1: metadata: expected {}, found"),
    "moved_stream": ("Cell 6", "stdout: line 2: expected '', found 'behind'"),
}
STOPPING = {  # notebooks that end before their time
    "unavailable": "class DataUnavailable(Exception): pass\n"
    "print('Data set not available: Cora')\nraise DataUnavailable",
    "killed": "import os\nos._exit(1)",
    "raises": "1 / 0",
}


def notebook(folder, name, *cells):
    """Make a folder for one notebook, itself the notebooks folder of its layout."""
    shutil.move(checkout(folder.parent / f"{folder.name}.tmp", **{name: list(cells)}).notebooks, folder)
    (folder / "conftest.py").unlink()
    return Layout(folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernel")
    put_config(folder)
    layout = notebook(folder / "untampered", "toy", *CELLS)
    make_reference(layout, "toy")
    shutil.rmtree(layout.build)
    committed = nbformat.read(layout.reference("toy"), 4)
    for tampering, tamper in TAMPERINGS.items():
        falsified = copy.deepcopy(committed)
        tamper(falsified)
        assert falsified != committed
        commit(notebook(folder / tampering, "toy", *CELLS), "toy", falsified)
    for name, source in {**STOPPING, "part": "print('nodes 2708')"}.items():
        layout = notebook(folder / name, name, code(source), code("print(1)"))
        commit(layout, name, executed(layout, name, [stdout("nodes 2708\n")], [stdout("1\n")]))
    return folder


@pytest.fixture(scope="module")
def outcomes(folder):
    """Run pytest once over all of them."""
    return nbval(folder, "--deselect", "part/part.ipynb::reference")


def test_the_untampered_notebook_passes_and_it_alone_is_recorded(outcomes, folder):
    assert outcomes["untampered"] == dict.fromkeys(["reference", *(f"Cell {k}" for k in range(7))], "passed")
    layout = Layout(folder / "untampered")
    assert ledger.recorded(layout, "toy") == ledger.state(layout, "toy")
    assert [path.name for path in (folder / "_build" / "ledger").iterdir()] == ["toy.json"]


@pytest.mark.parametrize("tampering", TAMPERINGS)
def test_every_falsification_is_caught_and_told(outcomes, tampering):
    item, told = FAILING[tampering]
    assert told in outcomes[tampering][item]


def test_missing_data_skip_the_notebook_with_the_printed_reason(outcomes):
    assert outcomes["unavailable"]["reference"] == "passed"
    for item in ("Cell 0", "Cell 1"):
        assert outcomes["unavailable"][item].startswith("skipped: Data set not available: Cora")


def test_a_killed_kernel_fails_soon_instead_of_hanging(outcomes):
    assert "The kernel died while it ran this cell" in outcomes["killed"]["Cell 0"]
    assert outcomes["killed"]["Cell 1"] != "passed"


def test_a_failing_cell_fails(outcomes):
    assert "ZeroDivisionError" in outcomes["raises"]["Cell 0"]


def test_a_notebook_of_which_a_part_was_left_out_is_not_recorded(outcomes):
    assert outcomes["part"] == {"Cell 0": "passed", "Cell 1": "passed"}  # see the first test for the ledger
