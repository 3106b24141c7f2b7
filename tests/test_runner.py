"""``wavy run``: nothing starts on a bad input, nothing hangs, nothing is lost, and failures are told in short."""

from __future__ import annotations

import signal
import subprocess
import sys
from time import monotonic

import nbformat
import pytest
import torch
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from pydantic import BaseModel, Field
from typer.testing import CliRunner

from notebook_kit import checkout, code, commit, executed
from wavy.companion import runner
from wavy.companion.commands import app
from wavy.companion.execution import check_kernel, execute
from wavy.companion.paths import CompanionError
from wavy.companion.source import code_cells, read_source
from wavy.data import DataUnavailable

PARAMETERS = code("n = 3\nflag = False", "parameters")
SHOW = code("import os\nprint(n, flag, os.path.basename(os.getcwd()))")


@pytest.fixture
def wavy(tmp_path, monkeypatch):
    """Call a command inside a checkout made of the given notebooks."""

    def call(*arguments, **notebooks):
        checkout(tmp_path, **notebooks)
        monkeypatch.chdir(tmp_path)
        begun = monotonic()
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        result.wall = monotonic() - begun
        return result

    return call


@pytest.fixture
def never_run(monkeypatch):
    def execute(*args, **kwargs):
        raise AssertionError("the run started")

    monkeypatch.setattr(runner, "execute", execute)


def test_a_run_reports_each_cell_and_leaves_the_reference_alone(wavy, tmp_path):
    layout = checkout(tmp_path, toy=[PARAMETERS, SHOW])
    commit(layout, "toy", executed(layout, "toy", [], []))
    before = layout.reference("toy").read_bytes()
    result = wavy("run", "toy", "-p", "flag=true", "-p", "n=4")
    assert result.exit_code == 0
    assert [line for line in result.output.splitlines() if "toy: cell 3 of 3" in line]  # one cell is injected
    (output,) = (tmp_path / "_build" / "runs").glob("toy-*.ipynb")
    assert str(output) in result.output
    assert code_cells(nbformat.read(output, 4))[-1].outputs[0].text == "4 True notebooks\n"
    assert layout.reference("toy").read_bytes() == before


def test_a_failing_cell_is_named_with_its_last_lines(wavy):
    result = wavy("run", "toy", toy=[PARAMETERS, code("1 / 0"), code("print('later')")])
    assert result.exit_code == 1
    assert "toy: code cell 2 of 3 failed: ZeroDivisionError: division by zero" in result.stderr
    assert "----> 1 1 / 0" in result.stderr
    assert "as far as it came" in result.stderr
    assert len(result.stderr.splitlines()) < 12


def test_a_killed_run_leaves_nothing_that_looks_like_a_result(tmp_path):
    checkout(tmp_path, toy=[code("print(1)"), code("import os, signal\nos.kill(os.getppid(), signal.SIGKILL)")])
    command = [sys.executable, "-m", "wavy", "run", "toy"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == -signal.SIGKILL
    left = [path.name for path in (tmp_path / "_build" / "runs").glob("*.ipynb")]
    assert left
    assert all(name.startswith(".toy-") for name in left)


@pytest.mark.parametrize("death", ["os._exit(3)", "os.kill(os.getpid(), 9)"])
def test_a_killed_kernel_is_reported_in_seconds(wavy, death):
    result = wavy("run", "toy", toy=[code("print(1)"), code(f"import os\n{death}")])
    assert result.exit_code == 1
    assert "code cell 2 of 2: the kernel died" in result.stderr
    assert result.wall < 20


def test_the_time_limit_is_for_the_whole_notebook(wavy):
    cells = [code("import time\ntime.sleep(2.2)")] * 5
    result = wavy("run", "toy", "--timeout", 4, toy=cells)
    assert result.exit_code == 1
    assert "code cell 2 of 5: the time limit of 4 s" in result.stderr
    assert result.wall < 20


@pytest.mark.parametrize("scale", ["quick", "cpu"])
def test_only_the_scale_quick_has_a_limit_by_default(wavy, monkeypatch, scale):
    monkeypatch.setattr("wavy.companion.runner.TIME_LIMIT", 1)
    cells = [code('scale = "quick"', "parameters"), code("import time\ntime.sleep(2)")]
    result = wavy("run", "toy", "-p", f"scale={scale}", toy=cells)
    assert ("the time limit of 1 s" in result.stderr) == (scale == "quick")
    assert result.exit_code == (scale == "quick")


def test_missing_data_end_the_run_with_the_reason(wavy):
    cell = code("class DataUnavailable(Exception): pass\nprint('Data set not available: Cora')\nraise DataUnavailable")
    result = wavy("run", "toy", toy=[cell])
    assert result.exit_code == 1
    assert "toy: Data set not available: Cora" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["toy", "-p", "m=1"], 'no parameter "m"'),
        (["toy", "-p", "n=many"], "n must be an integer"),
        (["tox"], 'no notebook "tox"; did you mean "toy"'),
        (["elsewhere/toy.md"], 'no notebook "toy"'),
        (["toy", "--output", "notebooks/toy.ipynb"], "holds the references"),
        (["toy", "--output", "notebooks/../notebooks/new.ipynb"], "holds the references"),
        (["toy", "--output", "out.txt"], "must end with .ipynb"),
        (["toy", "--output", "mine.ipynb"], "exists already"),
    ],
)
def test_bad_input_is_refused_before_the_run_in_one_line(wavy, never_run, tmp_path, arguments, told):
    (tmp_path / "mine.ipynb").write_text("mine")
    result = wavy("run", *arguments, toy=[PARAMETERS, SHOW])
    assert result.exit_code == 1
    assert told in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert (tmp_path / "mine.ipynb").read_text() == "mine"


def test_a_notebook_for_a_gpu_that_is_not_there_is_not_started(wavy, never_run, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    result = wavy("run", "toy", "-p", "device=cuda", toy=[code('device = "cpu"', "parameters")])
    assert result.exit_code == 1
    assert result.stderr == "wavy: device: found 'cuda', but torch sees no GPU here; allowed cpu\n"


class Depth(BaseModel):
    depth: int = Field(ge=1)
    tau: float = 0.5


def invalid():
    return Depth(depth=0, tau="much")


def missing():
    raise DataUnavailable("cora: no such folder\nset WAVY_DATA")


def wrong():
    raise ValueError("WAVY_DATA must be\nan absolute path")


@pytest.mark.parametrize(
    ("cause", "told"),
    [
        (invalid, "wavy: depth: Input should be greater than or equal to 1; tau: Input should be a valid number"),
        (missing, "wavy: cora: no such folder set WAVY_DATA\n"),
        (wrong, "wavy: WAVY_DATA must be an absolute path\n"),
    ],
)
def test_what_the_user_can_put_right_is_told_in_one_line(wavy, monkeypatch, cause, told):
    monkeypatch.setattr(runner, "execute", lambda *args, **kwargs: cause())
    result = wavy("run", "toy", toy=[PARAMETERS])
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)
    assert result.stderr.startswith(told)
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("fault", [RuntimeError("a fault"), KeyError("a fault"), ModuleNotFoundError(name="wavy.x")])
def test_a_fault_of_the_program_keeps_its_traceback(wavy, monkeypatch, fault):
    def fail(*args, **kwargs):
        raise fault

    monkeypatch.setattr(runner, "execute", fail)
    assert wavy("run", "toy", toy=[PARAMETERS]).exception is fault


def test_a_magic_among_the_parameters_is_refused_in_one_line(wavy, never_run):
    result = wavy("run", "toy", toy=[code("n = 3\n%matplotlib inline", "parameters")])
    assert result.exit_code == 1
    assert result.stderr.endswith("only lines like name = 1, found: %matplotlib inline\n")
    assert len(result.stderr.splitlines()) == 1


def test_a_notebook_may_be_given_by_path_from_anywhere(tmp_path, monkeypatch):
    layout = checkout(tmp_path / "checkout", toy=[PARAMETERS])
    seen = []
    monkeypatch.setattr(runner, "execute", lambda source, target, folder, **kwargs: seen.append((target, folder)))
    for path in (layout.source("toy"), layout.reference("toy")):
        runner.run_notebook(str(path), [])
    assert {folder for _, folder in seen} == {layout.notebooks}
    assert {target.parent for target, _ in seen} == {layout.build / "runs"}


def test_each_set_of_parameters_has_its_own_output(tmp_path, monkeypatch):
    path = str(checkout(tmp_path, toy=[PARAMETERS]).source("toy"))
    monkeypatch.setattr(runner, "execute", lambda *args, **kwargs: None)
    outputs = [runner.run_notebook(path, settings) for settings in ([], ["n=3"], ["n=4"], ["flag=true"])]
    assert outputs[0] == outputs[1], "a default given is the default"
    assert len(set(outputs)) == 3


def test_the_kernel_is_this_interpreter(tmp_path, monkeypatch):
    check_kernel()
    layout = checkout(tmp_path, toy=[code("import sys\nprint(sys.executable)")])
    nb = execute(read_source(layout.source("toy")), tmp_path / "out {x}.ipynb", layout.notebooks)
    assert code_cells(nb)[0].outputs[0].text.strip() == sys.executable
    foreign = KernelSpec(argv=["/elsewhere/bin/python", "-m", "ipykernel_launcher"])
    monkeypatch.setattr(KernelSpecManager, "get_kernel_spec", lambda self, name: foreign)
    with pytest.raises(CompanionError, match="runs /elsewhere/bin/python"):
        check_kernel()
