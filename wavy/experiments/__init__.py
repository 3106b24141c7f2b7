"""The experiments: for each, one parameter class for the notebook, one for a single run, and the run itself.

The notebook's parameters cell, the command line's checks and help, and ``params_hash`` all derive from these classes.
"""

from wavy.experiments.difformer import DifformerStudy
from wavy.experiments.transformer import TransformerStudy

#: Experiment -> its parameter class.
EXPERIMENTS = {"difformer": DifformerStudy, "transformer": TransformerStudy}
