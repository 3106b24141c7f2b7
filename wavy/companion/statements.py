"""What the text of a notebook says about its numbers, checked where the numbers are.

With the notebook's own parameters every statement is true: one that is not would print a line, and a line that the
reference does not have fails its validation. With a reader's parameters a statement may be untrue; the line then tells
so, and the notebook goes on.
"""

from __future__ import annotations

import inspect

#: How the line begins. A reference must not hold one.
NOT_SO = "Not so in this run: "


def said(holds: object, words: str | None = None) -> None:
    """Print a line if what the text says is not so.

    Args:
        holds: whether it is so; anything that can be true or false.
        words: what the text says; ``None`` shows the line of code instead.
    """
    if not bool(holds):
        print(NOT_SO + (words or _calling_line()))


def _calling_line() -> str:
    context = inspect.stack(context=1)[2].code_context
    return context[0].strip() if context else "a statement without words"
