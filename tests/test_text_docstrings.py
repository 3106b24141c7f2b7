"""The embedded text: prose of docstrings, read without importing anything, the same in every process."""

import ast
import inspect
import os
import subprocess
import sys
import warnings
from importlib.metadata import version

import pytest

from text_kit import document
from wavy.data.text import SPLITS, docstrings, load_text
from wavy.data.text.docstrings import module_prose
from wavy.data.text.prose import paragraphs

LIMIT = 150_000

NUMPY_STYLE = """
Return the eigenvalues of a matrix, in an order that follows from ``method``.

The *method* is chosen by :func:`numpy.linalg.eig <eig>`, which `LAPACK`_ names so; this takes
two lines but is one paragraph.

Parameters
----------
matrix : array_like
    The matrix to take the eigenvalues of, with its last two axes.

Returns
-------
The eigenvalues of the matrix, each as often as its multiplicity.

Notes
-----
.. versionadded:: 1.2
The algorithm is stable for all matrices that are symmetric::

    code(1) is not a sentence but it has many words.

* A list item is not kept, although it is a whole sentence here.

    >>> eigenvalues(matrix)
    array([1.0, 2.0])

>>> eigenvalues(matrix)  # A doctest is not prose, whatever its words are.
Output of a doctest that looks like one whole sentence here.

too short to keep.
x = 1, y = 2, z_3 = x ** 2 + y ** 2 - 17 * 4, w = [0].

References
----------
Somebody wrote this paper about eigenvalues of large matrices.
"""


def test_sentences_stay_and_tables_code_and_lists_go():
    assert list(paragraphs(inspect.cleandoc(NUMPY_STYLE))) == [
        "Return the eigenvalues of a matrix, in an order that follows from method.",
        "The method is chosen by numpy.linalg.eig, which LAPACK names so; this takes two lines but is one paragraph.",
        "The algorithm is stable for all matrices that are symmetric:",
    ]


def test_sections_of_google_style_go_too():
    arguments = "Args:\n    graph: The graph that it is done to, as a whole.\n\nRaises:\n    No."
    text = f"Do what the name says to the graph.\n\n{arguments}"
    assert list(paragraphs(text)) == ["Do what the name says to the graph."]


def test_a_module_is_read_in_the_order_of_its_source_and_never_run():
    source = '''
"""The module has one sentence of its own."""
raise SystemExit("this module was imported")
class First:
    """The first class comes before its method."""
    def method(self):
        """The method comes before the function below."""
        bad = "\\d"
if True:
    async def function():
        """The function stands in a condition, last of all."""
'''
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(module_prose(source.encode())) == [
            "The module has one sentence of its own.",
            "The first class comes before its method.",
            "The method comes before the function below.",
            "The function stands in a condition, last of all.",
        ]


def test_what_this_python_cannot_parse_has_no_prose():
    assert list(module_prose(b'"""A sentence with enough words in it."""\nprint "two"')) == []


@pytest.fixture(scope="module")
def corpora():
    return {split: load_text("docstrings", split, LIMIT) for split in SPLITS}


def test_the_text_is_prose_of_the_first_packages_and_names_the_versions(corpora):
    train = corpora["train"]
    assert f"networkx {version('networkx')}, numpy {version('numpy')}" in train.source
    assert 0.75 * LIMIT < sum(map(len, train)) < LIMIT
    lines = [line for text in train for line in text.split("\n")]
    assert all(line == line.strip() and line[0].isupper() and line[-1] in ".!?:" for line in lines)
    assert not any(">>>" in line or "``" in line for line in lines)


def test_the_splits_share_no_paragraph(corpora):
    found = [[line for text in corpora[split] for line in text.split("\n")] for split in SPLITS]
    together = [line for lines in found for line in lines]
    assert len(set(together)) == len(together)
    assert all(found)


def test_another_process_reads_the_same_text(corpora):
    code = f"from wavy.data.text import load_text; print(load_text('docstrings', 'train', {LIMIT}).digest())"
    environment = os.environ | {"PYTHONHASHSEED": "7"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == corpora["train"].digest()


def test_only_what_the_limit_asks_for_is_read(monkeypatch):
    read = []
    monkeypatch.setattr(docstrings, "module_prose", lambda source: read.append(source) or iter([document(len(read))]))
    monkeypatch.setattr(docstrings, "SHORTEST", 1)
    corpus = load_text("docstrings", "train", 10 * len(document(1)) - 5)
    assert len(corpus.documents) <= len(read) == 10
    assert all(ast.parse(source) for source in read)
