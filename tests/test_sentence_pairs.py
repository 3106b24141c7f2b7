"""Next-sentence pairs: what stands in them, which label they have, and that no text is lost or doubled."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("transformers")
from text_kit import WORDS, word_tokenizer
from wavy.training.sentence_pairs import sentence_pairs, sentences

TOKENIZER = word_tokenizer()
PAD, CLS, SEP = TOKENIZER.pad_token_id, TOKENIZER.cls_token_id, TOKENIZER.sep_token_id


def texts(number, rows, words=6):
    """Documents of ``rows`` sentences; document i writes its own words only."""
    own = len(WORDS) // number
    return [
        "\n".join(" ".join(WORDS[i * own + (r * words + w) % own] for w in range(words)) for r in range(rows))
        for i in range(number)
    ]


def spans(pairs, row):
    """A and B of one pair, from the types alone."""
    ids, types, mask = (part[row] for part in (pairs.input_ids, pairs.token_type_ids, pairs.attention_mask))
    return ids[(types == 0) & (mask == 1)][1:-1].tolist(), ids[types == 1][:-1].tolist()


def owner(tokens, number):
    """The one document that all tokens are from."""
    (found,) = {(token - 6) // (len(WORDS) // number) for token in tokens}
    return found


def test_documents_are_parted_at_sentences_and_lines():
    text = 'It is 3.5 m. See fig. a of it? Yes! "So" it ends . The end\nTitle'
    assert sentences(text) == ["It is 3.5 m.", "See fig. a of it?", "Yes!", '"So" it ends .', "The end", "Title"]


def test_a_pair_is_cls_a_sep_b_sep_and_padding():
    pairs = sentence_pairs(texts(4, 30), TOKENIZER, 32, seed=0)
    assert (pairs.input_ids[:, 0] == CLS).all()
    assert ((pairs.input_ids == SEP).sum(1) == 2).all()
    assert torch.equal(pairs.attention_mask == 0, pairs.input_ids == PAD)
    for row, ids in enumerate(pairs.input_ids):
        first, second = spans(pairs, row)
        assert first
        assert second
        whole = [CLS, *first, SEP, *second, SEP]
        assert ids.tolist() == whole + [PAD] * (32 - len(whole))
        assert pairs.token_type_ids[row].tolist() == [0] * (len(first) + 2) + [1] * (len(second) + 1) + [0] * (
            32 - len(whole)
        )


def test_the_label_tells_whether_b_is_from_another_document():
    pairs = sentence_pairs(texts(5, 200), TOKENIZER, 40, seed=0)
    for row, label in enumerate(pairs.next_sentence_label.tolist()):
        first, second = spans(pairs, row)
        assert (owner(first, 5) != owner(second, 5)) == bool(label)


def test_half_of_the_pairs_are_random():
    pairs = sentence_pairs(texts(10, 2000), TOKENIZER, 40, seed=0)
    assert len(pairs.input_ids) > 3000
    assert pairs.next_sentence_label.float().mean() == pytest.approx(0.5, abs=0.03)


def test_one_sentence_alone_is_followed_by_another_document():
    pairs = sentence_pairs(["w1 w2", "w150 w151"], TOKENIZER, 16, seed=0)
    assert pairs.next_sentence_label.tolist() == [1, 1]
    assert spans(pairs, 0) == ([7, 8], [156, 157])


@settings(max_examples=50)
@given(st.integers(2, 5), st.integers(1, 40), st.integers(0, 100))
def test_each_sentence_of_a_document_is_used_once_and_in_order(number, rows, seed):
    """Where nothing needs to be cut, the As and true Bs of a document together are the document."""
    documents = texts(number, rows, words=1)  # sentences of one token fill a sequence exactly
    pairs = sentence_pairs(documents, TOKENIZER, 12, seed)
    found = {index: [] for index in range(number)}
    for row, label in enumerate(pairs.next_sentence_label.tolist()):
        first, second = spans(pairs, row)
        found[owner(first, number)] += first + ([] if label else second)
    for index, document in enumerate(documents):
        assert found[index] == TOKENIZER(document, add_special_tokens=False)["input_ids"]


def test_too_long_pairs_are_cut_to_fit_and_neither_span_vanishes():
    pairs = sentence_pairs(texts(3, 10, words=60), TOKENIZER, 24, seed=0)
    full = pairs.attention_mask.sum(1)
    assert (full == 24).all()
    assert all(min(map(len, spans(pairs, row))) >= 1 for row in range(len(full)))


def test_a_seed_fixes_the_pairs_and_another_gives_others():
    first, same, other = (sentence_pairs(texts(4, 50), TOKENIZER, 32, seed=seed) for seed in (0, 0, 1))
    assert torch.equal(first.input_ids, same.input_ids)
    assert not torch.equal(first.input_ids[:5], other.input_ids[:5])


@pytest.mark.parametrize(
    ("documents", "length", "message"),
    [
        (["w1", "w2"], 4, "length: found 4, allowed 5 or more"),
        (["w1", ""], 16, "documents: found 1 with text, allowed two or more"),
    ],
)
def test_wrong_arguments_are_named(documents, length, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        sentence_pairs(documents, TOKENIZER, length, seed=0)
