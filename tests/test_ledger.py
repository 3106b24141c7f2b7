"""A notebook is left out only if nothing that its outputs depend on has changed since it ran well."""

from __future__ import annotations

import pytest

from notebook_kit import checkout, code, commit, executed, stdout
from wavy.companion import execute as execute_module
from wavy.companion import ledger
from wavy.companion.execute import execute_all
from wavy.companion.execution import DataMissingError, RunError


def is_current(layout, name):
    return ledger.recorded(layout, name) == ledger.state(layout, name)


@pytest.fixture
def layout(tmp_path):
    layout = checkout(tmp_path, toy=[code("print(1.5)")], other=[code("print(2.5)")])
    commit(layout, "toy", executed(layout, "toy", [stdout("1.5\n")]))
    commit(layout, "other", executed(layout, "other", [stdout("2.5\n")]))
    (tmp_path / "wavy" / "data").mkdir(parents=True)
    (tmp_path / "wavy" / "core.py").write_text("x = 1\n")
    (tmp_path / "wavy" / "data" / "checksums.txt").write_text("abc\n")
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "rows.jsonl").write_text("{}\n")
    (tmp_path / "requirements.lock").write_text("torch==2.11\n")
    return layout


@pytest.fixture
def runs(monkeypatch):
    """Replace the kernel: each run gives the stream of ``runs.outputs`` or raises what stands there."""

    class Runs(list):
        outputs = {"toy": "1.5\n", "other": "2.5\n"}  # noqa: RUF012

    runs = Runs()

    def execute(source, target, folder, **kwargs):
        runs.append(target.stem)
        outcome = runs.outputs[target.stem]
        if isinstance(outcome, Exception):
            raise outcome
        source.cells[-1].update(execution_count=1, outputs=[stdout(outcome)])
        return source

    monkeypatch.setattr(execute_module, "execute", execute)
    return runs


def test_a_good_run_is_remembered_and_a_fresh_checkout_knows_none(layout):
    assert not is_current(layout, "toy")
    ledger.record(layout, "toy", ledger.state(layout, "toy"), by="nbval")
    assert is_current(layout, "toy")
    assert not is_current(layout, "other")


@pytest.mark.parametrize(
    "path",
    [
        "notebooks/toy.md",
        "notebooks/toy.ipynb",
        "wavy/core.py",
        "wavy/data/checksums.txt",
        "results/rows.jsonl",
        "requirements.lock",
    ],
)
def test_a_change_in_any_input_counts(layout, path):
    ledger.record(layout, "toy", ledger.state(layout, "toy"), by="nbval")
    file = layout.root / path
    content = file.read_bytes()
    file.write_bytes(content + b"\n")
    assert not is_current(layout, "toy")
    file.write_bytes(content)
    assert is_current(layout, "toy"), "contents count, not times"
    file.unlink()
    assert not is_current(layout, "toy")


def test_new_and_renamed_files_count_but_bytecode_and_other_notebooks_do_not(layout):
    ledger.record(layout, "toy", ledger.state(layout, "toy"), by="nbval")
    cache = layout.root / "wavy" / "__pycache__"
    cache.mkdir()
    (cache / "core.pyc").write_bytes(b"1")
    layout.source("other").write_text("changed")
    assert is_current(layout, "toy")
    (layout.root / "wavy" / "core.py").rename(layout.root / "wavy" / "new.py")
    assert not is_current(layout, "toy")


@pytest.mark.parametrize("entry", ["", "{", "[]", "{}", '{"state": 1}'])
def test_a_damaged_entry_counts_as_none(layout, entry):
    ledger.record(layout, "toy", ledger.state(layout, "toy"), by="nbval")
    (layout.build / "ledger" / "toy.json").write_text(entry)
    assert not is_current(layout, "toy")


def test_execute_runs_what_changed_and_skips_the_rest(layout, runs, capsys):
    assert execute_all(layout)
    assert runs == ["other", "toy"]
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("[1/2] other  executed in")
    assert out[0].endswith("outputs equal the reference within tolerance")
    layout.source("toy").write_text(layout.source("toy").read_text() + "\nmore text\n")
    assert execute_all(layout)
    assert runs == ["other", "toy", "toy"]
    assert "[1/2] other  skipped: unchanged since its last good run (outputs equal)" in capsys.readouterr().out


def test_outputs_that_differ_are_told_again_until_they_agree(layout, runs, capsys):
    runs.outputs = {"toy": "1.6\n", "other": "2.50001\n"}
    for _ in range(2):
        assert execute_all(layout), "a difference is no failure"
        out = capsys.readouterr().out
        assert "[2/2] toy  executed in" in out
        assert "differs: code cell 1: stdout: 1.5 became 1.6" in out
        assert "Note: toy: code cell 1" in out.splitlines()[-1]
    assert runs == ["other", "toy", "toy"]


def test_a_failure_does_not_keep_the_others_from_running(layout, runs, capsys):
    runs.outputs = {"toy": "1.5\n", "other": RunError("code cell 1 of 1 failed: ZeroDivisionError\n    last line")}
    assert not execute_all(layout)
    out = capsys.readouterr().out
    assert "[1/2] other  failed: code cell 1 of 1 failed: ZeroDivisionError\n    last line\n[2/2] toy  executed" in out
    assert out.endswith("Failed: other\n")
    assert not is_current(layout, "other")
    assert is_current(layout, "toy")


def test_missing_data_and_a_missing_reference_are_told_and_not_recorded(layout, runs, capsys):
    runs.outputs = {"toy": DataMissingError("Data set not available: Cora"), "other": "2.5\n"}
    layout.reference("other").unlink()
    assert execute_all(layout)
    out = capsys.readouterr().out
    assert "Note: toy was not executed: Data set not available: Cora" in out
    assert "Note: other: there is no reference other.ipynb" in out
    assert not is_current(layout, "toy")
    assert not is_current(layout, "other")


def test_an_edit_during_the_run_is_not_taken_for_tested(layout, runs, monkeypatch):
    run = execute_module.execute

    def slow(*args, **kwargs):
        (layout.root / "wavy" / "core.py").write_text("x = 2\n")
        return run(*args, **kwargs)

    monkeypatch.setattr(execute_module, "execute", slow)
    execute_all(layout)
    assert not is_current(layout, "other")


def test_metadata_that_mean_nothing_fail_the_notebook_alone(layout, runs, capsys):
    checkout(layout.root, other=[code("print(2.5)", tolerance="3")])
    assert not execute_all(layout)
    assert "other  failed: tolerance must be a mapping" in capsys.readouterr().out
    assert runs == ["other", "toy"]


@pytest.mark.parametrize("broken", ["---\na: [\n---\n", "```{code-cell} ipython3\n:tags: [\n\n1\n```\n"])
def test_a_source_that_cannot_be_read_fails_alone_in_one_line(layout, runs, capsys, broken):
    layout.source("other").write_text(broken)
    assert not execute_all(layout)
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "other  failed: " in line]
    assert "other.md cannot be read as a notebook: " in line
    assert runs == ["toy"]
