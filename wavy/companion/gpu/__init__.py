"""All studies at scale ``gpu`` on a machine that is lent for a quarter of an hour and reaches no network.

* ``python -m wavy.companion.gpu.bundle`` gathers, here, what that machine lacks: wheels, data, and the commit's name.
* ``python wavy/companion/gpu/machine.py`` runs there: it installs the wheels of packages that are missing and starts
* :mod:`wavy.companion.gpu.studies`, which does the sweeps side by side, then the notebooks, and packs the results.
* ``python -m wavy.companion.gpu.merge`` adds the rows that come back to ``results/``.
"""

#: What comes back: new rows, executed notebooks, and the logs of all commands. Few files, since a loan may count them.
ROWS, NOTEBOOKS, LOGS = "rows.tar.gz", "notebooks.tar.gz", "logs.tar.gz"
