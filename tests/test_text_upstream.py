"""Texts that the package ``datasets`` reads, tried on small data sets in its own format: nothing is fetched."""

import sys

import pytest

from text_kit import document, put_xz
from wavy.data import DataUnavailable
from wavy.data.text import SPLITS, load_text, upstream, wikitext

datasets = pytest.importorskip("datasets")
ARTICLES = [document(number) for number in range(120)]
PAGES = [document(number).replace("\n", "\n\n") for number in range(60)]
SENTENCES = [f"sentence {number} of a book , as it stands there ." for number in range(1000)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty $WAVY_DATA/text, own caches."""
    put_xz(tmp_path, monkeypatch, {})
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "hf")
    # At the end of each mixture datasets waits for the threads that read remote files: 5 s.
    monkeypatch.setattr(datasets.config, "SLEEP_TIME_ON_THREADS_SHUTDOWN", 0.01, raising=False)
    return tmp_path / "data" / "text"


def put_parquet(file, texts):
    file.parent.mkdir(parents=True, exist_ok=True)
    datasets.Dataset.from_dict({"id": list(range(len(texts))), "text": texts}).to_parquet(file)


def all_documents(name):
    return [text for split in SPLITS for text in load_text(name, split)]


def test_openwebtext_is_split_by_documents_and_can_be_read_again(folder):
    put_parquet(folder / "openwebtext" / "0.parquet", PAGES[:20])
    put_parquet(folder / "openwebtext" / "1.parquet", PAGES[20:])
    found = all_documents("openwebtext")
    assert sorted(found) == sorted(page.replace("\n\n", "\n") for page in PAGES)
    assert found != [page.replace("\n\n", "\n") for page in PAGES]  # shuffled
    corpus = load_text("openwebtext")
    assert corpus.source == "$WAVY_DATA"
    assert list(corpus) == list(corpus) == list(load_text("openwebtext"))


def test_wikipedia_and_runs_of_sentences_come_mixed(folder, monkeypatch):
    monkeypatch.setattr(upstream, "WIKIPEDIA_SHARE", 0.5)
    monkeypatch.setattr(upstream, "SENTENCES", 10)
    put_parquet(folder / "wikipedia" / "0.parquet", ARTICLES)
    put_parquet(folder / "bookcorpus" / "0.parquet", SENTENCES)
    found = all_documents("wikipedia+bookcorpus")
    runs = [text for text in found if text.startswith("sentence")]
    assert len(set(found)) == len(found)
    assert set(found) - set(runs) <= set(ARTICLES)
    assert set(runs) <= {"\n".join(SENTENCES[start : start + 10]) for start in range(0, 1000, 10)}
    assert 50 < len(runs) <= 100
    assert len(found) - len(runs) > 50
    train = list(load_text("wikipedia+bookcorpus"))
    first_run = next(index for index, text in enumerate(train) if text in runs)
    assert first_run < 10


def put_on_hub(root, folder_of_files, texts, configuration=None):
    """Write a data set as a folder with the layout that it has on the hub."""
    for split, rows in texts.items():
        put_parquet(root / folder_of_files / f"{split}-0.parquet", rows)
    if configuration:
        files = "".join(f"  - split: {split}\n    path: {folder_of_files}/{split}-*\n" for split in texts)
        (root / "README.md").write_text(f"---\nconfigs:\n- config_name: {configuration}\n  data_files:\n{files}---\n")
    return str(root)


def test_what_is_not_in_wavy_data_is_asked_of_the_hub(folder, tmp_path, monkeypatch):
    wiki = put_on_hub(tmp_path / "wiki", "20231101.en", {"train": ARTICLES}, "20231101.en")
    books = put_on_hub(tmp_path / "books", "plain_text/train", {"0000": SENTENCES})
    monkeypatch.setitem(upstream.HUB, "wikipedia", (wiki, *upstream.HUB["wikipedia"][1:]))
    monkeypatch.setitem(upstream.HUB, "bookcorpus", (books, *upstream.HUB["bookcorpus"][1:]))
    corpus = load_text("wikipedia+bookcorpus")
    assert corpus.source == f"datasets: {wiki} + datasets: {books}"
    assert 40 < len(list(corpus)) <= 130


def test_wikitext_from_the_hub_is_what_the_file_gives(folder, tmp_path, monkeypatch):
    raw = " \n = Title @-@ one = \n \n A <unk> . \n \n = = Part = = \n \n More text . \n"
    lines = ["" if line == " " else f"{line}\n" for line in raw.split("\n")[:-1]]
    hub = put_on_hub(
        tmp_path / "hub", "wikitext-2-v1", dict.fromkeys(("train", "validation", "test"), lines), "wikitext-2-v1"
    )
    monkeypatch.setattr(wikitext, "REPOSITORY", hub)
    found = load_text("wikitext2", "valid")
    assert found.source == f"datasets: {hub}"
    put_xz(tmp_path, monkeypatch, {"wikitext2/valid": raw})
    assert found.documents == load_text("wikitext2", "valid").documents == ["Title-one\nA [UNK] .\nPart\nMore text ."]


@pytest.mark.parametrize(
    ("name", "repository"),
    [
        ("wikitext2", "Salesforce/wikitext"),
        ("wikipedia+bookcorpus", "wikimedia/wikipedia"),
        ("openwebtext", "Skylion007/openwebtext"),
    ],
)
def test_without_network_the_error_is_one_line_that_says_what_to_do(folder, monkeypatch, name, repository):
    monkeypatch.setattr(datasets, "load_dataset", offline)
    with pytest.raises(DataUnavailable) as caught:
        load_text(name)
    message = str(caught.value)
    assert f"{repository} could not be had by datasets: ConnectionError: no route. Connect to the network" in message
    assert "\n" not in message
    assert "WAVY_DATA" in message


def offline(*_, **__):
    raise ConnectionError("no\nroute")


def test_without_datasets_the_error_names_the_extra(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(DataUnavailable, match=r'pip install "wavy\[training\]"'):
        load_text("openwebtext")
