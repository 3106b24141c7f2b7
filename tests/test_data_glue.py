"""GLUE: counted as published, read without losing a line, and found in the order of all data."""

import csv
import io
import logging
import os
import runpy
import sys
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from wavy.data import DataUnavailable, glue, hub_tables, lookup
from wavy.data.glue import TASKS, GlueData, load_glue
from wavy.data.glue.tables import TABLES, Table, read_table

RAW = Path(os.environ.get("WAVY_DATA", ""), "glue")
needs_raw = pytest.mark.skipif(not (RAW / "CoLA").is_dir(), reason="WAVY_DATA names no folder with glue/")
# (task, split) -> the number of each class, by the sources; two numbers are ends of the range of scores.
COUNTS = {
    ("cola", "train"): [2528, 6023],
    ("cola", "validation"): [322, 721],
    ("sst2", "train"): [29780, 37569],
    ("sst2", "validation"): [428, 444],
    ("mrpc", "train"): [1194, 2474],
    ("mrpc", "validation"): [129, 279],
    ("mrpc", "test"): [578, 1147],
    ("rte", "train"): [1249, 1241],
    ("rte", "validation"): [146, 131],
    ("wnli", "train"): [323, 312],
    ("wnli", "validation"): [40, 31],
}
SCORED = {"train": 5749, "validation": 1500, "test": 1379}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("WAVY_CACHE", str(tmp_path / "cache"))


def test_every_file_is_counted_here_and_has_a_checksum():
    splits = {(task, split) for task, tables in TABLES.items() for split in tables}
    assert splits == {*COUNTS, *(("stsb", split) for split in SCORED)}
    assert splits == {(task, split) for task in TABLES for split in TASKS[task].splits}
    assert {table.path for tables in TABLES.values() for table in tables.values()} <= set(lookup.checksums())


@needs_raw
@pytest.mark.parametrize(("task", "split"), COUNTS)
def test_counts_of_the_classes(task, split):
    data = load_glue(task, split)
    assert np.bincount(data.labels).tolist() == COUNTS[task, split]
    assert data.labels.dtype == np.int64
    assert len(data) == len(data.texts_a) == sum(COUNTS[task, split])
    assert (data.texts_b is None) == (task in ("cola", "sst2"))
    assert (data.task, data.split, data.source) == (task, split, "$WAVY_DATA")
    assert len(data.label_names) == 2


@needs_raw
@pytest.mark.parametrize("split", SCORED)
def test_scores_of_sts_b(split):
    data = load_glue("stsb", split)
    assert len(data) == len(data.texts_a) == len(data.texts_b) == SCORED[split]
    assert (data.labels.min(), data.labels.max(), data.labels.dtype) == (0.0, 5.0, np.float64)
    assert data.label_names == ()


@needs_raw
@pytest.mark.parametrize(("task", "split"), [(task, split) for task in TABLES for split in TABLES[task]])
def test_every_text_is_one_whole_field(task, split):
    data = load_glue(task, split)
    for text in (*data.texts_a, *(data.texts_b or ())):
        assert text.strip()
        assert not {"\t", "\n", "\ufeff"} & set(text)


@needs_raw
@pytest.mark.parametrize(("task", "unlabelled"), [("mrpc", "MRPC/test.tsv"), ("stsb", "STS-B/test.tsv")])
def test_the_labelled_test_sets_are_glues_own_but_for_blanks_at_ends(task, unlabelled):
    data = load_glue(task, "test")
    rows = [line.split("\t") for line in (RAW / unlabelled).read_text(encoding="utf-8-sig").splitlines()[1:]]
    pairs = zip(data.texts_a, data.texts_b, strict=True)
    assert [(a.strip(), b.strip()) for a, b in pairs] == [(row[-2], row[-1]) for row in rows]


@needs_raw
def test_known_examples():
    cola, mrpc, rte = (load_glue(task, "train") for task in ("cola", "mrpc", "rte"))
    assert cola.texts_a[0] == "Our friends won't buy this analysis, let alone the next one we propose."
    assert mrpc.texts_a[0].startswith('Amrozi accused his brother , whom he called " the witness " ,')
    assert cola.label_names[cola.labels[0]] == "acceptable"
    assert mrpc.label_names[mrpc.labels[0]] == "equivalent"
    assert (rte.texts_b[0], rte.label_names[rte.labels[0]]) == (
        "Weapons of Mass Destruction Found in Iraq.",
        "not_entailment",
    )


def test_a_lonely_quotation_mark_swallows_no_line():
    content = '\ufeffQuality\ta\tb\n1\t"He said\tyes\n0\tno\t"\n'.encode()
    table = Table("any", 0, (1, 2))
    assert read_table(content, table) == ([['"He said', "no"], ["yes", '"']], ["1", "0"])
    as_syntax = list(csv.reader(io.StringIO(content.decode("utf-8-sig")), delimiter="\t"))
    assert len(as_syntax) == 2  # what the default of the library would make of it: one line fewer


def test_a_byte_order_mark_is_no_part_of_the_first_column():
    assert read_table("\ufeff1\tyes\n".encode(), Table("any", 0, (1,), header=False)) == ([["yes"]], ["1"])


@pytest.mark.parametrize(
    ("task", "split", "message"),
    [
        ("imdb", "train", "task: found 'imdb', allowed cola, sst2,"),
        ("cola", "test", "split: found 'test', but GLUE does not publish the test labels of cola; allowed train, val"),
        ("mnli", "test_matched", "does not publish the test labels of mnli; allowed train, validation_matched"),
        ("mnli", "validation", "split: found 'validation', allowed train, validation_matched, validation_mismatched"),
        ("stsb", "dev", "split: found 'dev', allowed train, validation, test"),
    ],
)
def test_wrong_names_are_one_clear_line(task, split, message):
    with pytest.raises(ValueError, match=message) as caught:
        load_glue(task, split)
    assert "\n" not in str(caught.value)


def write_glue(folder, monkeypatch, content):
    """Let $WAVY_DATA hold WNLI's training table."""
    path = TABLES["wnli"]["train"].path
    (folder / path).parent.mkdir(parents=True)
    (folder / path).write_bytes(content)
    monkeypatch.setenv("WAVY_DATA", str(folder))
    return path


def no_hub(monkeypatch):
    def fail(*_, **__):
        raise DataUnavailable("the hub is not asked here")

    monkeypatch.setattr(glue, "load_from_hub", fail)


def test_a_changed_file_is_not_used(tmp_path, monkeypatch, caplog):
    caplog.set_level(logging.WARNING, "wavy.data")
    write_glue(tmp_path / "data", monkeypatch, b"index\tsentence1\tsentence2\tlabel\n0\ta\tb\t1\n")
    no_hub(monkeypatch)
    with pytest.raises(DataUnavailable, match=r"wrong sha256.*the hub is not asked here"):
        load_glue("wnli", "train")
    assert "wrong sha256" in caplog.text


def test_a_file_with_the_known_sum_is_read(tmp_path, monkeypatch):
    content = b"index\tsentence1\tsentence2\tlabel\n0\ta\tb\t1\n"
    path = write_glue(tmp_path / "data", monkeypatch, content)
    monkeypatch.setattr(lookup, "checksums", lambda: {path: sha256(content).hexdigest()})
    data = load_glue("wnli", "train")
    assert (data.texts_a, data.texts_b, data.labels.tolist(), data.source) == (["a"], ["b"], [1], "$WAVY_DATA")


def test_without_data_the_error_says_what_to_do(monkeypatch):
    monkeypatch.delenv("WAVY_DATA", raising=False)
    no_hub(monkeypatch)
    with pytest.raises(DataUnavailable, match="et WAVY_DATA to the absolute path") as caught:
        load_glue("rte", "train")
    assert "\n" not in str(caught.value)


def classes(task):
    datasets = pytest.importorskip("datasets")
    names = TASKS[task].label_names
    return datasets.ClassLabel(names=list(names)) if names else datasets.Value("float32")


@pytest.fixture
def small_hub(tmp_path, monkeypatch):
    """A function that writes one split of a task in the form of the hub, as Parquet below a folder with a card."""
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    folder = tmp_path / "small-glue"

    def write(task, split, labels):
        texts = {column: [f"{column} {k}" for k in range(len(labels))] for column in TASKS[task].texts}
        features = {**{column: datasets.Value("string") for column in texts}, "label": classes(task)}
        table = datasets.Dataset.from_dict({**texts, "label": labels}, features=datasets.Features(features))
        (folder / task).mkdir(parents=True)
        table.to_parquet(folder / task / f"{split}-00000-of-00001.parquet")
        files = f"  data_files:\n  - split: {split}\n    path: {task}/{split}-*\n"
        (folder / "README.md").write_text(f"---\nconfigs:\n- config_name: {task}\n{files}---\n")
        monkeypatch.setattr(glue, "HUB", str(folder))

    monkeypatch.delenv("WAVY_DATA", raising=False)
    yield write
    datasets.enable_progress_bars()


@pytest.mark.parametrize("task", TASKS)
def test_upstream_has_every_task_in_the_form_of_the_files(small_hub, task):
    split, labels = TASKS[task].splits[1], [1, 0, 1] if TASKS[task].label_names else [0.5, 5.0, 2.5]
    small_hub(task, split, labels)
    data = load_glue(task, split)
    columns = TASKS[task].texts
    assert data.texts_a == [f"{columns[0]} {k}" for k in range(3)]
    assert data.texts_b == ([f"{columns[1]} {k}" for k in range(3)] if len(columns) > 1 else None)
    assert data.labels.tolist() == labels
    assert data.labels.dtype == (np.int64 if TASKS[task].label_names else np.float64)
    assert (data.label_names, data.source) == (TASKS[task].label_names, glue.HUB)


def test_upstream_labels_that_are_not_published_are_told(small_hub):
    small_hub("stsb", "test", [-1.0, -1.0])
    with pytest.raises(DataUnavailable, match="has no labels of it"):
        load_glue("stsb", "test")


def test_a_hub_that_fails_is_one_line_that_says_what_to_do(tmp_path):
    pytest.importorskip("datasets")
    message = r"nowhere could not be had by datasets: .* Connect to the network and try again"
    with pytest.raises(DataUnavailable, match=message) as caught:
        hub_tables.load_from_hub(str(tmp_path / "nowhere"), split="train")
    assert "\n" not in str(caught.value)


def test_one_fixed_revision_is_asked_for_and_kept_in_the_cache(tmp_path, monkeypatch):
    asked = {}

    def load_dataset(*names, **options):
        asked.update(options, names=names)
        return {"label": [0], "sentence": ["yes"]}

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    monkeypatch.delenv("WAVY_DATA", raising=False)
    load_glue("sst2", "train")
    cache = str(tmp_path / "cache" / "datasets")
    assert asked == {"names": ("nyu-mll/glue", "sst2"), "split": "train", "revision": glue.REVISION, "cache_dir": cache}


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(DataUnavailable, match=r'pip install "wavy\[training\]"'):
        load_glue("qqp", "train")


def small(labels, names=("no", "yes")):
    texts = [str(k) for k in range(len(labels))]
    return GlueData("any", "train", texts, [f"{text}b" for text in texts], np.array(labels), names, "here")


def test_a_sample_keeps_the_shares_and_what_belongs_together():
    data = small([0] * 30 + [1] * 10)
    part = data.sample(20)
    assert np.bincount(part.labels).tolist() == [15, 5]
    assert [(a, f"{a}b", data.labels[int(a)]) for a in part.texts_a] == list(
        zip(part.texts_a, part.texts_b, part.labels, strict=True)
    )
    assert set(data.sample(10).texts_a) < set(part.texts_a)
    assert data.sample(20, seed=1).texts_a != part.texts_a


def test_a_sample_of_scores():
    data = small([0.5, 1.0, 4.5, 2.0], ())
    part = data.sample(3)
    assert part.labels.tolist() == [data.labels[int(text)] for text in part.texts_a]
    with pytest.raises(ValueError, match="count: found 5, allowed 1 to 4"):
        data.sample(5)


@pytest.mark.parametrize("module", [hub_tables, glue])
def test_importing_needs_no_extra(monkeypatch, module):
    monkeypatch.setitem(sys.modules, "datasets", None)
    runpy.run_path(module.__file__)
