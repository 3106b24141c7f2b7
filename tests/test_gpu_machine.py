"""The studies on a machine without a network: what travels, what runs, what comes back."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from wavy import results, rowfile
from wavy.companion.gpu import LOGS, NOTEBOOKS, ROWS, bundle, machine, parcel, processes, studies
from wavy.companion.paths import CompanionError, Layout
from wavy.experiments import EXPERIMENTS
from wavy.experiments.transformer import TransformerRun

ROOT = Path(__file__).parents[1]


def row(seed: int) -> rowfile.Row:
    return results.make_row(TransformerRun(seed=seed), "quick", {"test_accuracy": seed / 10}, 1.0, "cpu")


def test_what_is_needed_follows_requirements_and_stops_at_what_is_left():
    found = bundle.needed(["wavy", "papermill"], "3.12")
    assert {"wavy", "papermill", "nbclient", "pydantic", "pydantic-core"} <= found
    assert not found & {"torch", "numpy", "sphinx", "triton"}
    assert "nbclient" not in bundle.needed(["papermill"], "3.12", left=("nbclient",))


def test_pins_are_those_of_the_lock():
    lock = "numpy==2.5.2 \\\n    --hash=sha256:1\nTyper==0.29.2 ; python_version >= '3.11' \\\npandas==3.0\n"
    assert bundle.pins(lock, {"typer", "numpy"}) == ["numpy==2.5.2", "Typer==0.29.2"]
    assert bundle.names_in("numpy==2.5\n# note\nScikit_Learn  # there\n\n") == {"numpy", "scikit-learn"}


def test_data_that_are_not_at_hand_are_named(tmp_path):
    with pytest.raises(CompanionError, match="found no planetoid/Cora in"):
        bundle.copy_data(tmp_path, tmp_path / "out")


def wheel(folder: Path, name: str) -> Path:
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(f"{name}.py", "WHERE = __file__\n")
        file.writestr(f"{name}-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        file.writestr(f"{name}-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{name}-1.0.dist-info/RECORD", "")
    return path


def test_only_packages_that_are_missing_are_installed(tmp_path):
    (tmp_path / "wheels").mkdir()
    (tmp_path / "commit").write_text("abc\n")
    carried = [wheel(tmp_path / "wheels", name) for name in ("numpy", "not_here_yet")]
    todo = machine.missing(carried)
    assert todo == carried[1:]
    site = tmp_path / "site"
    machine.install(todo, site)
    variables = machine.environment(tmp_path, site)
    assert variables["WAVY_REVISION"] == "abc"
    code = "import not_here_yet, wavy; print(not_here_yet.WHERE)"
    found = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=True)
    assert Path(found.stdout.strip()).parent == site


def test_commands_have_logs_and_one_end(tmp_path):
    def python(code: str) -> list[str]:
        return [sys.executable, "-c", code]

    worker = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(600)'])"
    begun = time.monotonic()
    commands = {"good": python("print('hello')"), "bad": python("raise SystemExit(3)"), "slow": python(worker)}
    assert processes.run_side_by_side(commands, tmp_path, 3) == {"good": "done", "bad": "failed (3)", "slow": "stopped"}
    assert time.monotonic() - begun < 60
    assert (tmp_path / "good.log").read_text() == "hello\n"


def ended(path: Path) -> bool:
    """Whether the process whose number a file holds has ended, within some seconds."""
    process = Path("/proc", path.read_text(), "stat")
    for _ in range(100):
        try:
            if process.read_text().rpartition(")")[2].split()[0] == "Z":  # killed, but not yet collected
                return True
        except OSError:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc to find processes in")
@pytest.mark.parametrize("fault", [KeyboardInterrupt, FileNotFoundError])
def test_no_command_outlasts_an_interrupt_or_a_command_that_cannot_be_started(fault, tmp_path, monkeypatch):
    pid = tmp_path / "pid"
    code = (
        "import os, sys, time; part = sys.argv[1] + '_'\nopen(part, 'w').write(str(os.getpid()))\n"
        "os.rename(part, sys.argv[1])\ntime.sleep(600)"
    )
    start = processes._start

    def started(command: list[str], path: Path) -> subprocess.Popen:
        if command == ["second"]:
            while not pid.exists():
                time.sleep(0.01)
            raise fault
        return start(command, path)

    monkeypatch.setattr(processes, "_start", started)
    with pytest.raises(fault):
        processes.run_side_by_side({"a": [sys.executable, "-c", code, str(pid)], "b": ["second"]}, tmp_path, 60)
    assert ended(pid)


@pytest.mark.parametrize(
    ("module", "words", "message"),
    [
        ("studies", ["--scale", "gqu"], r"scale: found 'gqu', allowed .*gpu"),
        ("machine", ["--bundle", "nowhere"], r"bundle: found no folder nowhere, allowed one that "),
    ],
)
def test_what_would_do_nothing_is_refused(module, words, message, tmp_path):
    command = [sys.executable, "-m", f"wavy.companion.gpu.{module}", "--out", str(tmp_path), *words]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 1
    assert re.fullmatch(f"{message}.*\n", found.stderr)


def test_rows_travel_and_none_is_lost_or_changed(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
        rowfile.append(folder / "transformer.jsonl", row(0))
    before = parcel.standing(there, ["transformer"])
    rowfile.append(there / "transformer.jsonl", row(1))
    rowfile.append(there / "transformer.jsonl", row(2))
    rowfile.append(here / "transformer.jsonl", row(2) | {"seconds": 99.0})
    parcel.pack(tmp_path / ROWS, parcel.new_rows(parcel.standing(there, ["transformer"]), before))
    assert parcel.merge(tmp_path / ROWS, here) == {"transformer.jsonl": 1}
    standing = rowfile.read(here / "transformer.jsonl")
    assert [each["seed"] for each in standing] == [0, 2, 1]
    assert standing[1]["seconds"] == 99.0


@pytest.mark.parametrize(("name", "text"), [("../a.jsonl", "{}\n"), ("a.txt", "x"), ("a.jsonl", '{"b": 1}\n')])
def test_an_archive_of_something_else_is_refused(tmp_path, name, text):
    parcel.pack(tmp_path / ROWS, {"transformer.jsonl": json.dumps(row(0)).encode(), name: text.encode()})
    with pytest.raises(ValueError, match=r"rows\.tar\.gz: found "):
        parcel.merge(tmp_path / ROWS, tmp_path)
    assert not list(tmp_path.glob("*.jsonl"))


WRONG = {
    "another experiment": {"experiment": "deit"},
    "another seed": {"seed": 9},
    "no params": {"params": {}},
    "a list": {"metrics": []},
    "a number that is none": {"metrics": {"test_accuracy": float("nan")}},
    "the name of another run": {"params_hash": "0123456789ab"},
}


@pytest.mark.parametrize("name", WRONG)
def test_no_row_of_an_archive_is_written_if_one_is_wrong(name, tmp_path):
    text = json.dumps(row(0)) + "\n" + json.dumps(row(1) | WRONG[name]) + "\n"
    parcel.pack(tmp_path / ROWS, {"transformer.jsonl": text.encode()})
    with pytest.raises(ValueError, match=r"^rows\.tar\.gz: found transformer\.jsonl, line 2.*, allowed rows .*alone"):
        parcel.merge(tmp_path / ROWS, tmp_path)
    assert not list(tmp_path.glob("*.jsonl"))


@dataclass(frozen=True)
class Small(studies.Plan):
    """Commands that take no time: a row, and a file in place of a notebook."""

    root: Path

    def sweep(self, experiment: str) -> list[str]:
        code = (
            "import sys; sys.path.insert(0, 'tests')\nfrom pathlib import Path\nfrom wavy import rowfile\n"
            "from test_gpu_machine import row\nrowfile.append(Path(sys.argv[1]), row(7))"
        )
        return [sys.executable, "-c", code, str(self.root / "results" / f"{experiment}.jsonl")]

    def notebook(self, name: str, output: Path) -> list[str]:
        code = "import sys; from pathlib import Path; p = Path(sys.argv[1]); p.parent.mkdir(parents=True); p.touch()"
        return [sys.executable, "-c", code, str(output)]

    def reader(self, name: str, output: Path) -> list[str]:
        copy = "import sys; from pathlib import Path; Path(sys.argv[2]).write_bytes(Path(sys.argv[1]).read_bytes())"
        return [sys.executable, "-c", copy, str(output.with_name("transformer.ipynb")), str(output)]


def test_a_plan_leaves_rows_notebooks_and_logs(tmp_path):
    for folder in ("notebooks", "results"):
        (tmp_path / folder).mkdir()
    for name in ("transformer", "trained"):
        (tmp_path / "notebooks" / f"{name}.md").write_text("a notebook\n")
    plan = Small("gpu", "cpu", 20.0, 1, ("transformer",), root=tmp_path)
    ends = studies.run_plan(plan, Layout(tmp_path / "notebooks"), tmp_path / "out")
    # What reads the rows of all studies comes last: its command copies what the one before has left.
    assert ends == {"sweep-transformer": "done", "notebook-transformer": "done", "notebook-trained": "done"}
    with tarfile.open(tmp_path / "out" / ROWS) as archive:
        assert archive.getnames() == ["transformer.jsonl"]
    with tarfile.open(tmp_path / "out" / NOTEBOOKS) as archive:
        assert archive.getnames() == ["trained.ipynb", "transformer.ipynb"]
    with tarfile.open(tmp_path / "out" / LOGS) as archive:
        assert set(archive.getnames()) == {f"{name}.log" for name in ends}
    assert {path.name for path in (tmp_path / "out").iterdir()} == {ROWS, NOTEBOOKS, LOGS}


def test_the_dry_run_has_what_it_starts_with(tmp_path):
    """The commands of the make target, up to the studies: an experiment that has no runs at the scale ends them."""
    shown = subprocess.run(["make", "-n", "gpu-dry-run"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    (made,) = re.findall(r"mkdir -p (.*)", shown)
    (bundle,) = re.findall(r"--bundle (\S+)", shown)
    assert bundle in {str(ROOT / folder) for folder in made.split()}
    (tmp_path / "bundle").mkdir()
    words = ["--bundle", str(tmp_path / "bundle"), "--out", str(tmp_path / "out"), "--scale", "none"]
    done = subprocess.run([sys.executable, machine.__file__, *words], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "scale: found 'none'" in done.stderr


def test_every_experiment_that_a_scale_has_is_run_at_it():
    assert {"difformer", "remedies"} <= set(studies.with_scale("gpu"))
    assert "signal" not in studies.with_scale("quick")
    with pytest.raises(ValueError, match="scale: found 'none', allowed "):
        studies.with_scale("none")
    for name in studies.with_scale("gpu"):
        assert EXPERIMENTS[name](scale="gpu", device="cuda").runs()


def test_notebooks_that_only_read_are_those_of_the_scale():
    assert studies.readers("gpu") == ["trained"]
    assert studies.readers("quick") == []


def test_the_commands_are_those_of_the_console():
    plan = studies.Plan("gpu", "cuda", 10, 3, ("difformer",))
    sweep = plan.sweep("difformer")
    assert sweep[:5] == [sys.executable, "-m", "wavy", "sweep", "difformer"]
    assert "minutes=3.6" in sweep
    assert "minutes=1.8" in plan.notebook("difformer", Path("out.ipynb"))
    assert plan.reader("trained", Path("out"))[3:] == ["run", "trained", "-p", "scale=gpu", "--output", "out"]
    help_ = subprocess.run([*sweep[:4], "--help"], capture_output=True, text=True, check=True).stdout
    assert "--jobs" in help_


@pytest.mark.parametrize("harm", [lambda whole: b"rows", lambda whole: whole[: len(whole) // 2], lambda whole: b""])
def test_what_is_no_whole_archive_is_refused_in_one_line(harm, tmp_path):
    parcel.pack(tmp_path / ROWS, {"transformer.jsonl": json.dumps(row(0)).encode()})
    (tmp_path / ROWS).write_bytes(harm((tmp_path / ROWS).read_bytes()))
    words = f"{ROWS}: found no whole archive"
    with pytest.raises(ValueError, match=words):
        parcel.merge(tmp_path / ROWS, tmp_path)
    command = [sys.executable, "-m", "wavy.companion.gpu.merge", str(tmp_path / ROWS)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=Layout.find().root)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert words in done.stderr
