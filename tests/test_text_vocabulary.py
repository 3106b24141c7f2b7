"""WordPiece: BERT's vocabulary as transformers reads it, and one of our own that every process trains alike."""

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from text_kit import document
from wavy.data import DataUnavailable, hub
from wavy.data.text.vocabulary import ALPHABET, BERT, SPECIAL_TOKENS, wordpiece

transformers = pytest.importorskip("transformers")
VOCABULARY = Path(os.environ.get("WAVY_DATA", "nowhere"), BERT)
needs_bert = pytest.mark.skipif(not VOCABULARY.exists(), reason="$WAVY_DATA has no vocabulary of BERT")

# Many pairs of pieces are equally frequent here, so the order in which ties are broken shows.
TIES = [" ".join(a + b + c for a in "abcdef" for b in "ghijkl" for c in "mnopqr")] * 2
TRICKY = [
    "Žluťoučký kůň ÀÉÎÕÜ naïve e\u0301 İstanbul ß ﬁ",
    "中文字符和日本語のカナ 한국어",
    "a\x00b\ufffdc\u200bd\tnew\nline\r\x07 \u00a0 \u3000",
    "U.S.-based [MASK] [UNK] [mask] don't... $5.00 50% #tag @x e=mc² ½ 👩‍👩‍👧",
    "x" * 101 + " " + "supercalifragilisticexpialidocious" * 3,
    "",
    "  ",
]

TRAINING = """
import json, sys
from wavy.data.text.vocabulary import wordpiece
print(json.dumps(wordpiece(json.loads(sys.stdin.read()), 120).get_vocab(), sort_keys=True))
"""


@pytest.fixture(scope="module")
def bert():
    return wordpiece()


@needs_bert
@pytest.mark.parametrize("text", TRICKY)
def test_berts_vocabulary_gives_what_transformers_gives(bert, tmp_path, text):
    (tmp_path / "vocab.txt").write_bytes(VOCABULARY.read_bytes())
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizer", "do_lower_case": true}')
    reference = transformers.BertTokenizerFast.from_pretrained(tmp_path)
    assert bert(text, "second " + text).data == reference(text, "second " + text).data


@needs_bert
def test_berts_vocabulary_has_berts_ids(bert):
    assert len(bert) == 30_522
    assert bert("Hello, world!")["input_ids"] == [101, 7592, 1010, 2088, 999, 102]
    assert bert.convert_tokens_to_ids(list(SPECIAL_TOKENS)) == [0, 100, 101, 102, 103]


@pytest.fixture(scope="module")
def own():
    return wordpiece([document(number) for number in range(50)], 200)


def test_a_trained_vocabulary_starts_with_the_special_tokens_and_knows_the_words(own):
    assert own.convert_tokens_to_ids(list(SPECIAL_TOKENS)) == [0, 1, 2, 3, 4]
    assert sorted(own.get_vocab().values()) == list(range(len(own)))
    assert len(own) <= 200
    assert own.tokenize("The DOCUMENT tells") == ["the", "document", "tells"]
    assert own.tokenize("w [MASK] \u0416") == ["[UNK]", "[MASK]", "[UNK]"]  # letters that the corpus lacks
    assert {own.cls_token_id, own.sep_token_id, own.pad_token_id, own.mask_token_id, own.unk_token_id} == set(range(5))


@functools.cache
def small():
    return wordpiece([document(number) for number in range(50)], 120)


@given(st.lists(st.sampled_from("parghdocumentells1234567890.:"), max_size=20).map("".join))
def test_nothing_written_in_the_corpus_characters_is_unknown(text):
    tokenizer = small()
    words = [word for word, _ in tokenizer.backend_tokenizer.pre_tokenizer.pre_tokenize_str(text)]
    assert "".join(token.removeprefix("##") for token in tokenizer.tokenize(text)) == "".join(words)


def test_every_process_trains_the_same_vocabulary():
    environment = os.environ | {"PYTHONHASHSEED": "7", "RAYON_NUM_THREADS": "2"}
    command = [sys.executable, "-c", TRAINING]
    done = subprocess.run(command, input=json.dumps(TIES), capture_output=True, text=True, check=True, env=environment)
    mine = wordpiece(TIES, 120).get_vocab()
    assert json.loads(done.stdout) == mine
    assert len(mine) == 120
    assert all(wordpiece(TIES, 120).get_vocab() == mine for _ in range(5))


def test_only_the_most_frequent_characters_have_tokens():
    many = "".join(map(chr, range(0x4E00, 0x4E00 + ALPHABET)))
    tokenizer = wordpiece([f"{many} aa aa \u9fa5"], 2000)
    vocabulary = tokenizer.get_vocab()
    assert sum(len(token.removeprefix("##")) == 1 and not token.startswith("##") for token in vocabulary) == ALPHABET
    assert "a" in vocabulary
    assert "\u9fa5" not in vocabulary


def test_the_mark_of_unknown_words_is_no_word():
    assert "unk" not in wordpiece(["one [UNK] [UNK] [UNK] two two"], 60).get_vocab()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((None, 1000), "vocab_size: found 1000, allowed 30522 without a corpus"),
        ((["abc"], 9), "vocab_size: found 9, allowed 11 or more for the special tokens and the characters"),
        ((["abc"], 0), "vocab_size: found 0, allowed a whole number >= 1"),
        ((["", " "], 100), "corpus: found no word"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        wordpiece(*arguments)


def test_without_network_the_error_says_where_to_put_berts_vocabulary(monkeypatch, tmp_path):
    monkeypatch.setenv("WAVY_DATA", str(tmp_path))
    monkeypatch.setenv("WAVY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("huggingface_hub.hf_hub_download", offline)
    with pytest.raises(DataUnavailable, match=rf"^{BERT} .*hub: no route\. Connect to the network .* set WAVY_DATA"):
        wordpiece()


def offline(*_):
    raise ConnectionError("no route")


@needs_bert
def test_from_the_hub_it_comes_once_and_is_checked(monkeypatch, tmp_path):
    asked = []

    def download(repository, name):
        asked.append((repository, name))
        return VOCABULARY

    monkeypatch.setenv("WAVY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("WAVY_DATA", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    assert len(wordpiece()) == len(wordpiece()) == 30_522
    assert asked == [("google-bert/bert-base-uncased", "vocab.txt")]


def test_without_the_package_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(DataUnavailable, match=r'pip install "wavy\[hosts\]"'):
        wordpiece(["text"])
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(DataUnavailable, match=r'pip install "wavy\[hosts\]"'):
        list(hub.HubFiles("r", {"a": "b"}).fetch(["a"]))
