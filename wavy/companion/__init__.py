"""What only the book needs: notebooks run strictly, compared with their references, and drawn in one style.

* ``wavy run``: ``runner`` on ``parameters``, ``execution`` (papermill) and ``source`` (jupytext);
* ``pytest --nbval notebooks/``: ``nbval_plugin`` on ``checks``, ``pairing`` and ``comparer``;
* ``wavy execute`` (``make book``): ``execute`` and its ``ledger``;
* ``wavy reference`` (``make reference``): ``reference``.

The rest of wavy never imports this package.
"""

#: How long a whole notebook may run, in seconds, where the caller names no other limit.
TIME_LIMIT = 3600.0
