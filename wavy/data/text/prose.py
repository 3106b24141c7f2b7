"""The prose in a docstring: sentences stay, tables of parameters, examples and code go."""

import re
from collections.abc import Iterator

#: Sections without prose, or with the same few phrases everywhere, in the styles of numpy and Google.
DROPPED = frozenset({
    "args", "arguments", "attributes", "call signature", "example", "examples", "input", "inputs", "keyword arguments",
    "methods", "other parameters", "output", "outputs", "parameters", "params", "properties", "raises", "receives",
    "reference", "references", "return", "returns", "see also", "shape", "usage", "warns", "yield", "yields",
})  # fmt: skip
UNDERLINE = re.compile(r"^([-=~^*\"'#+])\1{2,}$")
#: Lists, tables, doctests, fields and comments.
NO_PROSE = re.compile(r"^(?:\s|:\w[^:]*:|>>> |\.\.\. |[|+]|- |\* |#|\d+[.)] |\[\d+\])")
DIRECTIVE = re.compile(r"^\.\. ")
#: A role like :func:`name`, a literal like ``name``, a reference like `name`_ : the text inside.
MARKUP = re.compile(r"(?::[\w:+-]+:)?(`{1,2})~?\.?([^`]*?)(?: ?<[^<>`]*>)?\1_{0,2}")
EMPHASIS = re.compile(r"(?<![\w*])(\*{1,2})(\w[^*]*?)\1(?![\w*])")
SENTENCE = re.compile(r"^[A-Z].*[.!?:]$")
WORD = re.compile(r"^[(\"']?[A-Za-z]+(?:['-][A-Za-z]+)*[.,;:!?)\"']*$")
FEWEST_WORDS, SHARE_OF_WORDS = 6, 0.8


def paragraphs(docstring: str) -> Iterator[str]:
    """Yield the paragraphs of a docstring that are prose, each as one line without markup.

    Kept is what starts with a capital letter, ends as a sentence, has ``FEWEST_WORDS`` words or more, and consists of
    words for the most part. Left out are code, formulas, lists, and the sections in ``DROPPED``: their fragments
    repeat from function to function.

    Args:
        docstring: Without common indentation, as ``ast.get_docstring`` gives it.
    """
    for block in _blocks(docstring):
        text = MARKUP.sub(r"\2", " ".join(block))
        text = EMPHASIS.sub(r"\2", text.removesuffix("::") + (":" if text.endswith("::") else ""))
        words = text.split()
        if (
            len(words) >= FEWEST_WORDS
            and SENTENCE.match(text)
            and sum(bool(WORD.match(word)) for word in words) >= SHARE_OF_WORDS * len(words)
        ):
            yield " ".join(words)


def _blocks(docstring: str) -> Iterator[list[str]]:
    """Yield the runs of plain lines outside of dropped sections."""
    dropped, skipping, block = False, False, []
    lines = [*docstring.split("\n"), ""]
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        heading = _heading(line, after)
        if not line.strip() or heading or UNDERLINE.match(line) or DIRECTIVE.match(line):
            if block and not dropped:
                yield block
            block, skipping = [], False
            dropped = heading in DROPPED if heading else dropped
        elif NO_PROSE.match(line):
            block, skipping = [], True  # with the line that it belongs to, and what goes on from it
        elif not skipping:
            block.append(line.strip())


def _heading(line: str, after: str) -> str | None:
    """Return the name of the section that a line opens, None for any other line."""
    if UNDERLINE.match(after.strip()) and line and not line[0].isspace():
        return line.strip(" :").casefold()
    name = line.removesuffix(":").casefold()
    return name if line.endswith(":") and name in DROPPED else None
