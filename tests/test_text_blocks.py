"""Blocks of tokens: every token of the text is in one block, in order, or in the rest that is accounted for."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from text_kit import WORDS, word_tokenizer
from wavy.data.text.bigram import bigram_perplexity
from wavy.data.text.blocks import stream_blocks, token_blocks
from wavy.data.text.unigram import unigram_perplexity

pytest.importorskip("transformers")
TOKENIZER = word_tokenizer()
CLS, SEP = TOKENIZER.cls_token_id, TOKENIZER.sep_token_id

documents = st.lists(st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join), max_size=80)


def ids_of(text):
    return TOKENIZER(text, add_special_tokens=False)["input_ids"]


@given(documents, st.integers(3, 20))
def test_a_block_for_bert_is_a_run_of_one_document_between_cls_and_sep(texts, length):
    blocks = token_blocks(texts, TOKENIZER, length)
    assert blocks.ids.dtype == torch.int64
    assert blocks.ids.shape[1] == length
    assert (blocks.ids[:, 0] == CLS).all()
    assert (blocks.ids[:, -1] == SEP).all()
    rows, dropped = blocks.ids[:, 1:-1].tolist(), 0
    for text in texts:
        ids = ids_of(text)
        rest = len(ids) % (length - 2)
        mine, rows = rows[: len(ids) // (length - 2)], rows[len(ids) // (length - 2) :]
        assert [token for row in mine for token in row] == ids[: len(ids) - rest]
        dropped += rest
    assert not rows
    assert blocks.dropped == dropped
    assert blocks.tokens == sum(len(ids_of(text)) for text in texts)


@given(documents, st.integers(1, 20))
def test_a_stream_holds_all_documents_and_their_ends_but_for_less_than_a_block(texts, length):
    blocks = token_blocks(texts, TOKENIZER, length, "stream")
    joined = [token for text in texts for token in [*ids_of(text), SEP]]
    assert blocks.ids.flatten().tolist() == joined[: blocks.ids.numel()]
    assert blocks.tokens == len(joined)
    assert blocks.dropped == len(joined) - blocks.ids.numel() < length


def test_the_end_of_text_is_the_tokenizers_own_where_it_has_one():
    tokenizer = word_tokenizer()
    tokenizer.eos_token = "."
    assert token_blocks(["w1", "w2"], tokenizer, 2, "stream").ids.tolist() == [
        [ids_of("w1")[0], ids_of(".")[0]],
        [ids_of("w2")[0], ids_of(".")[0]],
    ]


@pytest.mark.parametrize("packing", ["document", "stream"])
def test_streamed_blocks_are_the_same_and_come_before_the_end_of_the_text(packing):
    texts = [" ".join(WORDS[number : number + 30]) for number in range(150)]
    assert torch.equal(
        torch.stack(list(stream_blocks(texts, TOKENIZER, 16, packing))), token_blocks(texts, TOKENIZER, 16, packing).ids
    )

    def endless():
        while True:
            yield texts[0]

    assert next(stream_blocks(endless(), TOKENIZER, 16, packing)).shape == (16,)


@pytest.mark.parametrize(
    ("length", "packing", "message"),
    [
        (2, "document", "length: found 2, allowed 3 or more"),
        (0, "stream", "length: found 0, allowed a whole number >= 1"),
        (9, "lines", "packing: found 'lines', allowed document, stream"),
    ],
)
def test_wrong_arguments_are_named(length, packing, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        token_blocks(["w1"], TOKENIZER, length, packing)


def test_one_text_is_not_taken_for_a_document_a_character():
    for cut in (token_blocks, lambda *asked: next(stream_blocks(*asked))):
        with pytest.raises(ValueError, match=r"^documents: found one text, allowed several"):
            cut("w1 w2 w3 w4 w5 w6 w7", TOKENIZER, 8)


def test_a_tokenizer_without_special_tokens_is_refused():
    tokenizer = word_tokenizer()
    tokenizer.sep_token = None
    for packing in ("document", "stream"):
        with pytest.raises(ValueError, match=r"^tokenizer: found one without sep_token, allowed one with"):
            token_blocks(["w1"], tokenizer, 8, packing)


def test_unigram_perplexity_by_hand():
    train, split = torch.tensor([[9, 2, 2, 9], [2, 3, 9, 9]]), torch.tensor([2, 3, 4, 9])
    # Ids 0 to 8; counts of 2 and 3 are 3 and 1; 4 tokens in all.
    expected = math.exp(-sum(map(math.log, [4 / 13, 2 / 13, 1 / 13])) / 3)
    assert unigram_perplexity(train, split, 10, [9]) == pytest.approx(expected)


@given(st.integers(1, 50))
def test_unigram_perplexity_of_even_text_is_the_vocabulary_and_more_for_tokens_unseen(size):
    even = torch.arange(size).repeat(3)
    assert unigram_perplexity(even, even, size) == pytest.approx(size)
    assert unigram_perplexity(even, torch.tensor([size]), size + 1) > size


def test_unigram_perplexity_refuses_what_it_cannot_count():
    with pytest.raises(ValueError, match="split: found no token"):
        unigram_perplexity(torch.tensor([1]), torch.tensor([0, 0]), 5, [0])
    with pytest.raises(ValueError, match="train: found the id 5, allowed less than vocab_size = 5"):
        unigram_perplexity(torch.tensor([5]), torch.tensor([1]), 5)


def test_bigram_perplexity_by_hand():
    # Of 2: twice 3, once 4. Ordinary are 2, 3, 4; none of the five that are counted is missing.
    train = torch.tensor([[2, 3, 2, 3], [2, 4, 9, 9]])
    unigrams = {2: 4 / 9, 3: 3 / 9, 4: 2 / 9}
    after_two = [(2 + 2 * unigrams[3]) / 5, (1 + 2 * unigrams[4]) / 5]
    # After 4 comes nothing that is predicted, so the frequencies alone count.
    expected = [*after_two, unigrams[2]]
    before, asked = torch.tensor([2, 2, 4]), torch.tensor([3, 4, 2])
    found = bigram_perplexity(train, before, asked, 10, [0, 1, 5, 6, 7, 8, 9])
    assert found == pytest.approx(math.exp(-sum(map(math.log, expected)) / 3))


def test_bigrams_tell_a_text_whose_tokens_follow_each_other():
    text = torch.arange(50).remainder(5).view(1, -1)
    assert unigram_perplexity(text, text, 5) == pytest.approx(5)
    assert bigram_perplexity(text, text[0, :-1], text[0, 1:], 5) < 1.2
