"""Texts by name: what a document is, splits that share no text, the look-up, and an error that says what to do."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from text_kit import document, put_xz
from wavy.data import DataUnavailable
from wavy.data.text import NAMES, SPLITS, load_text
from wavy.data.text.gutenberg import chapters
from wavy.data.text.splits import limited, normalised, split_of, without_repeats
from wavy.data.text.wikitext import articles

HERE = Path(os.environ.get("WAVY_DATA", "nowhere"), "text").is_dir()
needs_texts = pytest.mark.skipif(not HERE, reason="$WAVY_DATA has no folder text")

WIKITEXT = """ 
 = Lobster = 
 
 The <unk> lives in the sea . It weighs 0 @.@ 7 – 2 @,@ 200 kg . 
 Key : Pld 
 = Played , W = 
 Won . 
 
 = = Claw @-@ like feet = = 
 
 The first pair is large . 
 
 = SMS Zrínyi = 
 
 A ship . 
"""

words = st.lists(st.sampled_from(["a", "B", "c"]), min_size=1, max_size=7).map(" ".join)
documents = st.lists(st.lists(words, min_size=1, max_size=4).map("\n".join), max_size=12)


@pytest.fixture
def enwiki(tmp_path, monkeypatch):
    """An enwiki file of 200 small articles, one of them twice."""
    texts = [document(number) for number in range(200)]
    put_xz(tmp_path, monkeypatch, {"enwiki_sample": "\n\n".join([*texts, texts[7]]) + "\n"})
    return texts


def paragraphs(corpus):
    return {normalised(line) for text in corpus for line in text.split("\n") if len(line.split()) >= 5}


def test_wikitext_is_parted_at_titles_and_its_marks_are_undone():
    lobster, ship = articles(WIKITEXT)
    assert lobster.split("\n") == [
        "Lobster",
        "The [UNK] lives in the sea . It weighs 0.7 – 2,200 kg .",
        "Key : Pld",
        "Played , W",
        "Won .",
        "Claw-like feet",
        "The first pair is large .",
    ]
    assert ship == "SMS Zrínyi\nA ship ."


def test_wikitext_has_its_own_split(tmp_path, monkeypatch):
    put_xz(tmp_path, monkeypatch, {f"wikitext2/{split}": f" \n = {split} = \n \n Text . \n" for split in SPLITS})
    for split in SPLITS:
        corpus = load_text("wikitext2", split)
        assert (corpus.name, corpus.split, corpus.source) == ("wikitext2", split, "$WAVY_DATA")
        assert list(corpus) == [f"{split}\nText ."]


def test_books_are_parted_at_chapters_and_none_goes_over_the_end_of_a_book():
    text = "x" * 1000
    first, second, third = chapters(f"[ One by A ]\nCHAPTER I\n{text}\nCHAPTER II\nshort\n\n[ Two by B ]\nall of it\n")
    assert first == f"[ One by A ]\nCHAPTER I\n{text}"
    assert (second, third) == ("CHAPTER II\nshort", "[ Two by B ]\nall of it")


def test_splits_hold_each_document_once_in_the_order_of_the_file(enwiki):
    found = {split: load_text("enwiki", split).documents for split in SPLITS}
    assert sorted(text for split in SPLITS for text in found[split]) == sorted(enwiki)
    for texts in found.values():
        assert texts == [text for text in enwiki if text in texts]
        assert len(texts) > 2
    assert len(found["train"]) > 0.8 * len(enwiki)


def test_a_limit_takes_the_first_documents_and_moves_none_to_another_split(enwiki):
    limit = sum(map(len, enwiki[:100]))
    for split in SPLITS:
        some = load_text("enwiki", split, limit).documents
        assert some == [text for text in load_text("enwiki", split) if enwiki.index(text) < 100]


@given(documents)
def test_splits_share_no_paragraph_of_five_words(texts):
    kept = list(without_repeats(texts))
    lines = [normalised(line) for text in kept for line in text.split("\n")]
    long = [line for line in lines if len(line.split()) >= 5]
    assert len(long) == len(set(long))
    assert set(lines) == {normalised(line) for text in texts for line in text.split("\n")}


@given(st.text(min_size=1))
def test_a_copy_is_on_the_same_side_whatever_its_case_and_spaces(text):
    assert split_of(text) == split_of(f"  {text}\n") == split_of(text.replace(" ", " \n "))
    assert split_of("Some Text") == split_of("some  text")


@given(st.lists(st.text(max_size=5), max_size=9), st.integers(1, 30))
def test_a_limit_is_reached_by_the_last_document_and_not_before(texts, limit):
    kept = list(limited(texts, limit))
    assert kept == texts[: len(kept)]
    assert sum(map(len, kept[:-1])) < limit
    assert sum(map(len, kept)) >= limit or len(kept) == len(texts)


def test_the_digest_tells_texts_and_orders_apart(enwiki):
    whole, part = load_text("enwiki"), load_text("enwiki", limit=10_000)
    assert whole.digest() == load_text("enwiki").digest()
    assert len({whole.digest(), part.digest(), load_text("enwiki", "valid").digest()}) == 3


@pytest.mark.parametrize("name", ["enwiki", "gutenberg"])
def test_where_a_text_is_nowhere_the_error_says_what_to_do(tmp_path, monkeypatch, name):
    monkeypatch.setenv("WAVY_CACHE", str(tmp_path))
    monkeypatch.delenv("WAVY_DATA", raising=False)
    with pytest.raises(DataUnavailable) as caught:
        load_text(name)
    message = str(caught.value)
    assert f"text/{name}" in message
    assert message.endswith("Set WAVY_DATA to the absolute path of a folder that holds it.")
    assert "\n" not in message
    assert "network" not in message  # it would not help


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("wikitext", "train"), f"name: found 'wikitext', allowed {', '.join(NAMES)}"),
        (("docstrings", "dev"), "split: found 'dev', allowed train, valid, test"),
        (("docstrings", "train", 0), "limit: found 0, allowed a whole number >= 1"),
        (("openwebtext", "train", 9), "limit: found 9, allowed None for the streamed text openwebtext"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        load_text(*arguments)


def test_a_limit_that_leaves_a_split_empty_is_named(enwiki):
    empty = next(split for split in SPLITS if split != split_of(enwiki[0]))
    with pytest.raises(
        ValueError, match=f"limit: found 1, allowed enough characters for a document in the split {empty}"
    ):
        load_text("enwiki", empty, 1)


@needs_texts
@pytest.mark.parametrize(
    ("name", "numbers"), [("wikitext2", (600, 60, 60)), ("enwiki", (911, 56, 61)), ("gutenberg", (307, 14, 14))]
)
def test_the_splits_of_the_texts_share_nothing(name, numbers):
    corpora = [load_text(name, split) for split in SPLITS]
    assert tuple(len(corpus.documents) for corpus in corpora) == numbers
    found = [set(corpus) if name == "wikitext2" else paragraphs(corpus) for corpus in corpora]
    assert len(set().union(*found)) == sum(map(len, found))
