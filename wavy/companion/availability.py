"""How a notebook says that its data set cannot be had, so that it is left out visibly and never passes in silence.

It prints a line that starts with "Data set not available:" and raises ``wavy.data.DataUnavailable``. Whoever runs it
then skips the rest and shows that line. The exception is known by its name: only the name reaches us from the kernel.
"""

from __future__ import annotations

from nbformat import NotebookNode

UNAVAILABLE = "Data set not available:"
UNAVAILABLE_ERROR = "DataUnavailable"


def unavailable(outputs: list[NotebookNode]) -> str | None:
    """Return why a cell's data cannot be had (the printed line, or else the exception's message), or None."""
    errors = [out for out in outputs if out.output_type == "error" and out.ename == UNAVAILABLE_ERROR]
    if not errors:
        return None
    printed = "".join(out.text for out in outputs if out.output_type == "stream").splitlines()
    return next((line for line in printed if line.startswith(UNAVAILABLE)), f"{UNAVAILABLE} {errors[0].evalue}")
