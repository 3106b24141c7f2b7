"""Small texts and a tokenizer in which each word of them is a token."""

from __future__ import annotations

import lzma
from hashlib import sha256

from wavy.data import lookup

WORDS = [f"w{number}" for number in range(200)]


def word_tokenizer():
    """BERT's tokenizer with a vocabulary of ``WORDS`` and the full stop."""
    from transformers import BertTokenizerFast  # noqa: PLC0415 (an extra)

    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", *WORDS]
    return BertTokenizerFast(vocab={token: index for index, token in enumerate(tokens)})


def document(number: int, paragraphs: int = 6) -> str:
    """A document with one paragraph a line, all different from those of other documents."""
    return "\n".join(
        f"Paragraph {row} of the document {number} tells its number again: {number}." for row in range(paragraphs)
    )


def put_xz(folder, monkeypatch, texts):
    """Write texts as $WAVY_DATA/text/<name>.txt.xz, with their checksums in the table; an empty cache beside it."""
    table = dict(lookup.checksums())
    for name, text in texts.items():
        file = folder / "data" / "text" / f"{name}.txt.xz"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(lzma.compress(text.encode()))
        table[f"text/{name}.txt.xz"] = sha256(file.read_bytes()).hexdigest()
    monkeypatch.setattr(lookup, "checksums", lambda: table)
    monkeypatch.setenv("WAVY_DATA", str(folder / "data"))
    monkeypatch.setenv("WAVY_CACHE", str(folder / "cache"))
