"""Results rows survive killed processes, concurrent writers and half-written lines; sweeps resume."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import resource
import signal
import subprocess
import time

import pytest
from pydantic import ValidationError

from wavy import results, rowfile
from wavy.experiments.difformer import DifformerRun, DifformerStudy
from wavy.sweep import sweep

KILLS = 20


def runs(count):
    return [DifformerRun(seed=seed) for seed in range(count)]


def fake(run, device):
    """Metrics that name their run, after a moment's work."""
    time.sleep(0.001)
    return {"test_accuracy": run.seed / 1000}


def row(seed=0, **metrics):
    return results.make_row(DifformerRun(seed=seed), "cpu", metrics or {"test_accuracy": 0.5}, 1.0, "cpu")


def endless_sweep(path, count):
    sweep(runs(count), fake, scale="cpu", path=path, report=lambda line: None)


def test_kill_9_during_a_sweep_loses_and_breaks_nothing(tmp_path):
    """Twenty sweeps over the same file, each killed at a random moment; then one that ends."""
    path, count = tmp_path / "rows.jsonl", 400
    context, chance, before = multiprocessing.get_context("fork"), random.Random(0), []
    for _ in range(KILLS):
        child = context.Process(target=endless_sweep, args=(path, count))
        child.start()
        time.sleep(0.02 + 0.06 * chance.random())
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        assert child.exitcode == -signal.SIGKILL, "the sweep ended before it could be killed"
        after = rowfile.read(path)
        assert after[: len(before)] == before
        before = after
    assert 0 < len(before) < count
    endless_sweep(path, count)
    rows = rowfile.read(path)
    assert sorted(row["seed"] for row in rows) == list(range(count))
    assert all(row["metrics"]["test_accuracy"] == row["seed"] / 1000 for row in rows)


def test_a_whole_row_without_its_newline_is_kept(tmp_path):
    path = tmp_path / "rows.jsonl"
    rowfile.append(path, row(0))
    rowfile.append(path, row(1))
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    assert len(rowfile.read(path)) == 2
    assert rowfile.append(path, row(2))
    assert [r["seed"] for r in rowfile.read(path)] == [0, 1, 2]


@pytest.mark.parametrize("text", ["precious notes", "line one\nprecious last", "\r\r", "[1, 2"])
def test_a_file_of_something_else_is_refused_and_left_alone(tmp_path, text):
    path = tmp_path / "notes.txt"
    path.write_text(text)
    for call in (lambda: rowfile.append(path, row()), lambda: rowfile.check_writable(path)):
        with pytest.raises(ValueError, match=r"notes.txt, line \d: not a results row"):
            call()
    with pytest.raises(ValueError, match="not a results row"):
        sweep(runs(1), lambda run, device: pytest.fail("ran"), scale="cpu", path=path)
    assert path.read_bytes() == text.encode()


def test_a_full_disk_is_an_error_and_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "rows.jsonl"
    rowfile.append(path, row(0))
    before = path.read_bytes()

    def append_with_little_space():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 100,) * 2)
        try:
            rowfile.append(path, row(1))
        except OSError:
            os._exit(7)
        os._exit(0)

    child = multiprocessing.get_context("fork").Process(target=append_with_little_space)
    child.start()
    child.join()
    assert child.exitcode == 7
    assert path.read_bytes() == before


def test_rows_that_cannot_be_written_are_found_out_before_the_first_run(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(ValueError, match=r"folder: rows cannot be written there \(Is a directory\)"):
        sweep(runs(1), lambda run, device: pytest.fail("ran"), scale="cpu", path=tmp_path / "folder")


@pytest.mark.parametrize("cut", [1, 10, -2])
def test_a_half_row_is_not_data_and_the_next_append_removes_it(tmp_path, cut):
    path = tmp_path / "rows.jsonl"
    rowfile.append(path, row(0))
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:cut])
    assert [r["seed"] for r in rowfile.read(path)] == [0]
    assert rowfile.append(path, row(1))
    assert path.read_bytes().startswith(whole)
    assert [r["seed"] for r in rowfile.read(path)] == [0, 1]


def append_all(path, seeds):
    for seed in seeds:
        rowfile.append(path, row(seed))


def test_concurrent_writers_write_each_row_once(tmp_path):
    path = tmp_path / "rows.jsonl"
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=append_all, args=(path, range(30))) for _ in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert sorted(r["seed"] for r in rowfile.read(path)) == list(range(30))


def test_a_row_has_the_agreed_keys_and_names_code_and_versions(tmp_path):
    path = tmp_path / "rows.jsonl"
    assert rowfile.append(path, row())
    assert not rowfile.append(path, row())
    (read,) = rowfile.read(path)
    assert tuple(read) == rowfile.KEYS
    assert read["params"]["lr"] == 1e-3
    assert {"python", "torch", "torch-geometric", "wavy"} <= set(read["versions"])
    assert results.frame(path).test_accuracy.tolist() == [0.5]


def test_only_changes_of_the_code_make_a_revision_dirty(tmp_path):
    def git(*words):
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True)

    code, rows = tmp_path / "code", tmp_path / "rows"
    for folder in (code, rows):
        folder.mkdir()
        (folder / "file").write_text("1")
    assert results.revision(code) == "unknown"
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "all")
    (rows / "file").write_text("2")
    clean = results.revision(code)
    assert len(clean) == 12
    assert results.revision(code, rows) == f"{clean}-dirty"


def test_rows_that_are_not_rows_are_refused_by_line(tmp_path):
    path = tmp_path / "rows.jsonl"
    rowfile.append(path, row())
    edited = ({"extra": 1}, {"depth": 2}, {"metrics": None}, {"params": 3})
    for text in ("not json\n", "{}\n", "[]\n", "[" * 100_000 + "\n", *(json.dumps(row(1) | e) + "\n" for e in edited)):
        broken = tmp_path / "broken.jsonl"
        broken.write_text(path.read_text() + text)
        with pytest.raises(ValueError, match=r"broken.jsonl, line 2: not a results row"):
            rowfile.read(broken)
        with pytest.raises(ValueError, match="line 2"):
            rowfile.append(broken, row(2))
        assert broken.read_text() == path.read_text() + text
    with pytest.raises(ValueError, match=r"metrics: found {'test_accuracy': inf}"):
        row(test_accuracy=float("inf"))
    with pytest.raises(ValueError, match="row: found keys"):
        rowfile.append(path, {"experiment": "difformer"})


def test_an_infinite_perplexity_is_none_and_its_loss_stays():
    found = row(val_loss=900.0, val_perplexity=float("inf"), perplexity=12.0)["metrics"]
    assert found == {"val_loss": 900.0, "val_perplexity": None, "perplexity": 12.0}
    for name, value in (("val_loss", float("inf")), ("val_perplexity", float("nan"))):
        with pytest.raises(ValueError, match=f"metrics: found {{'{name}'"):
            row(**{name: value})


WRONG = {
    "seed": ({"seed": 5}, "row: found seed 5, allowed that of its params, 0"),
    "params": ({"params": {}}, "row: found dataset 'cora', allowed that of its params, None"),
    "text": ({"params": "dataset"}, "row: found 'dataset' as params, allowed a mapping"),
    "metrics": ({"metrics": [1]}, r"row: found \[1\] as metrics, allowed a mapping"),
    "nan": ({"seconds": float("nan")}, "row: found a value that cannot be written"),
    "object": ({"device": object()}, "row: found a value that cannot be written"),
}


@pytest.mark.parametrize("name", WRONG)
def test_no_row_is_written_that_could_not_be_read(name, tmp_path):
    path = tmp_path / "rows.jsonl"
    rowfile.append(path, row(1))
    before = path.read_bytes()
    edit, message = WRONG[name]
    with pytest.raises(ValueError, match=message) as caught:
        rowfile.append(path, row(0) | edit)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before


def test_hash_follows_the_parameters_and_not_their_defaults():
    plain = results.run_hash(DifformerRun())
    assert plain == results.run_hash(DifformerRun(lr=1e-3)) == results.params_hash("difformer", {})
    assert plain != results.run_hash(DifformerRun(lr=2e-3))
    assert results.params_hash("a", {"x": 1, "y": 2}) == results.params_hash("a", {"y": 2, "x": 1})


def test_sweep_skips_what_stands_and_returns_the_order_asked_for(tmp_path):
    path, lines = tmp_path / "rows.jsonl", []
    sweep(runs(3), fake, scale="cpu", path=path, report=lines.append)
    table = sweep(runs(5)[::-1], fake, scale="cpu", path=path, report=lines.append)
    assert table.seed.tolist() == [4, 3, 2, 1, 0]
    assert len(lines) == 5
    assert lines[-1].startswith("[2/2] cora diffusion depth 8 tau 0.5 seed 3: ")


def test_two_sweeps_over_one_file_share_the_work(tmp_path):
    path, done = tmp_path / "rows.jsonl", []

    def other_sweep_gets_there_first(run, device):
        done.append(run.seed)
        for seed in (run.seed, run.seed + 1):
            rowfile.append(path, row(seed, test_accuracy=0.25))
        return {"test_accuracy": 0.75}

    table = sweep(runs(4), other_sweep_gets_there_first, scale="cpu", path=path, report=lambda line: None)
    assert done == [0, 2]
    assert len(rowfile.read(path)) == 4
    assert table.test_accuracy[[1, 3]].tolist() == [0.25, 0.25]


def test_sweep_in_processes_gives_the_same_rows(tmp_path):
    table = sweep(runs(4), fake, scale="cpu", path=tmp_path / "rows.jsonl", jobs=2, report=lambda line: None)
    assert table.test_accuracy.tolist() == [0, 0.001, 0.002, 0.003]


def test_study_plans_the_scales_and_refuses_what_is_out_of_range():
    cpu = DifformerStudy(scale="cpu").runs()
    assert len(cpu) == 6 * 2 * 4 * 3
    assert len({results.run_hash(run) for run in cpu}) == len(cpu)
    assert {run.dtype for run in DifformerStudy().runs()} == {"float64"}
    assert [run.depth for run in DifformerStudy(depths=(3,), residuals=("light",)).runs()] == [3]
    for bad in (
        {"seeds": (0, 1, 0)},
        {"residuals": ("light", "light")},
        {"seeds": (2**32,)},
        {"depth": 4},
        {"taus": (0.0,)},
        {"residuals": ("wave",)},
        {"seeds": (-1,)},
        {"scale": "large"},
    ):
        with pytest.raises(ValidationError):
            DifformerStudy(**bad)
